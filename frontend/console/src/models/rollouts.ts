import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { numbers } from "../components/locale";
import { duration, shortPercent } from "../components/units";
import { t } from "../language/t";

export type Rollout = components["schemas"]["Rollout"];
export type RolloutDetail = components["schemas"]["RolloutDetail"];
export type Trial = components["schemas"]["Trial"];

export const ROLLOUTS = ["rollouts"] as const;
const LATEST = 5;

/** The latest roll-outs of a pair's versions, youngest first. */
export function rolloutsQuery(pair: string) {
  return queryOptions({
    queryKey: [...ROLLOUTS, "of", pair],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/rollouts/", { params: { query: { pair, page_size: LATEST } }, signal })).data,
  });
}

export function rolloutQuery(id: string) {
  return queryOptions({
    queryKey: [...ROLLOUTS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/rollouts/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function isActive(rollout: Rollout): boolean {
  return rollout.state === "planned" || rollout.state === "measuring";
}

const LOSS = numbers({ maximumSignificantDigits: 4 });

/** The candidate's and the champion's error on the devices' samples: "12.5%", or a loss where nothing is right. */
export function errorsOf(
  rollout: Rollout,
): { candidate: string; champion: string; what: "error" | "loss" } | undefined {
  const { candidate_error, champion_error, candidate_loss, champion_loss } = rollout.figures as Readonly<
    Record<string, unknown>
  >;
  if (typeof candidate_error === "number" && typeof champion_error === "number") {
    return { candidate: shortPercent(candidate_error), champion: shortPercent(champion_error), what: "error" };
  }
  if (typeof candidate_loss === "number" && typeof champion_loss === "number") {
    return { candidate: LOSS.format(candidate_loss), champion: LOSS.format(champion_loss), what: "loss" };
  }
  return undefined;
}

/** How answers compared of a candidate that was not shown: "98.4% on 20 devices"; undefined: none were compared. */
export function besideOf(rollout: Rollout): { agreement: string; candidate: string; champion: string } | undefined {
  const { agreement, shadowed, candidate_p50_s, candidate_p99_s, champion_p50_s, champion_p99_s } =
    rollout.figures as Readonly<Record<string, unknown>>;
  if (typeof agreement !== "number" || typeof shadowed !== "number") return undefined;
  const share = shortPercent(agreement);
  return {
    agreement: shadowed === 1 ? t`${share} on 1 device` : t`${share} on ${shadowed} devices`,
    candidate: timesOf(candidate_p50_s, candidate_p99_s),
    champion: timesOf(champion_p50_s, champion_p99_s),
  };
}

function timesOf(half: unknown, most: unknown): string {
  return typeof half === "number" && typeof most === "number"
    ? t`${duration(half)}, 99% within ${duration(most)}`
    : "–";
}

/** How a device found the candidate: "wrong on 10%, before on 12%". */
export function verdictOf(trial: Trial): string {
  if (trial.reported_at === null) return t`has not told yet`;
  if (trial.fault_code) return trial.fault_sentence ?? trial.fault_code;
  const { candidate_accuracy, champion_accuracy, candidate_loss, champion_loss } = trial;
  if (typeof candidate_accuracy === "number" && typeof champion_accuracy === "number") {
    const [wrong, champion] = [1 - candidate_accuracy, 1 - champion_accuracy];
    return t`wrong on ${shortPercent(wrong)}, the champion on ${shortPercent(champion)}`;
  }
  const [loss, champion] = [candidate_loss ?? 0, champion_loss ?? 0];
  return t`loss ${LOSS.format(loss)}, the champion's ${LOSS.format(champion)}`;
}

/** How many of the group have told, as numbers. */
export function progressOf(rollout: Rollout): { devices: number; reports: number } {
  const { devices, reports } = rollout.figures as Readonly<Record<string, unknown>>;
  return { devices: typeof devices === "number" ? devices : 0, reports: typeof reports === "number" ? reports : 0 };
}

/** How many of the present phase's devices are absent; undefined: none, or it is not told. */
export function absentOf({ figures }: Rollout): string | undefined {
  const { phase_absent, phase_devices } = figures as Readonly<Record<string, unknown>>;
  if (typeof phase_absent !== "number" || typeof phase_devices !== "number" || phase_absent === 0) return undefined;
  return t`${phase_absent} of ${phase_devices}`;
}

/** One of the phases of a roll-out, with every value. */
export interface Step {
  readonly share: number;
  readonly threshold: number;
  readonly within_s: number;
  readonly hold_s: number;
  readonly absent_s: number;
}

/** The phases of terms, which have from the first what they leave out; undefined: a share is missing or no larger. */
export function stepsOf(terms: Readonly<Record<string, unknown>>): readonly Step[] | undefined {
  const { share, threshold, within_s, hold_s, absent_s, phases } = terms;
  const later: readonly Partial<Step>[] = Array.isArray(phases) ? phases : [];
  const steps: readonly Readonly<Record<keyof Step, unknown>>[] = [
    { share, threshold, within_s, hold_s, absent_s },
    ...later.map((phase) => ({
      share: phase.share,
      threshold: phase.threshold ?? threshold,
      within_s: phase.within_s ?? within_s,
      hold_s: phase.hold_s ?? hold_s,
      absent_s: phase.absent_s ?? absent_s,
    })),
  ];
  if (!steps.every(isWhole)) return undefined;
  return steps.every((step, at) => step.share > (steps[at - 1]?.share ?? 0)) ? steps : undefined;
}

function isWhole(step: Readonly<Record<keyof Step, unknown>>): step is Step {
  return Object.values(step).every((value) => typeof value === "number");
}

/** By how much more often a candidate may be wrong now than the champion, or by what share its loss may be larger. */
export function toleranceOf({ phase, terms }: Rollout): string {
  const step = stepsOf(terms)?.[phase];
  return step === undefined ? "–" : shortPercent(step.threshold);
}

/** What shares of the devices try it one after another, for how long, and by how much it may be worse. */
export function courseOf(steps: readonly Step[]): string {
  const course = steps.map(spanOf).join(t`, then `);
  const tolerances = new Set(steps.map((step) => step.threshold)).size === 1 ? steps.slice(0, 1) : steps;
  const tolerance = tolerances.map((step) => shortPercent(step.threshold)).join(t`, then `);
  const waits = [...new Set(steps.map((step) => step.absent_s))];
  const absent = waits.every((one) => one === 0)
    ? t`It does not wait for absent devices.`
    : t`Where too few devices are there, it waits for ${waits.map(duration).join(t`, then `)} at most.`;
  return t`${course}, then everybody. It may be worse by ${tolerance}. ${absent}`;
}

function spanOf({ share, within_s, hold_s }: Step): string {
  const devices = shortPercent(share);
  if (hold_s === within_s) return t`${devices} for ${duration(within_s)}`;
  return hold_s > 0
    ? t`${devices} for ${duration(hold_s)} to ${duration(within_s)}`
    : t`${devices} for ${duration(within_s)} at most`;
}

/** Which of its phases it is in; undefined: it has one alone. */
export function phaseOf({ phase, phases, terms }: Rollout): string | undefined {
  const now = stepsOf(terms)?.[phase];
  if (phases === 1 || now === undefined) return undefined;
  return t`${phase + 1} of ${phases}, with ${shortPercent(now.share)} of the devices`;
}

/** Those that told last first, then those that have not told. */
export function latestOf(trials: readonly Trial[]): readonly Trial[] {
  return [...trials].sort((one, other) => (other.reported_at ?? "").localeCompare(one.reported_at ?? ""));
}
