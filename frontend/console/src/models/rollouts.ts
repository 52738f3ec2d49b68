import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { numbers } from "../components/locale";
import { duration } from "../components/units";
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

const SHARE = numbers({ style: "percent", maximumFractionDigits: 2 });
const LOSS = numbers({ maximumSignificantDigits: 4 });

/** The candidate's and the champion's error on the devices' samples: "12.5%", or a loss where nothing is right. */
export function errorsOf(
  rollout: Rollout,
): { candidate: string; champion: string; what: "error" | "loss" } | undefined {
  const { candidate_error, champion_error, candidate_loss, champion_loss } = rollout.figures as Readonly<
    Record<string, unknown>
  >;
  if (typeof candidate_error === "number" && typeof champion_error === "number") {
    return { candidate: SHARE.format(candidate_error), champion: SHARE.format(champion_error), what: "error" };
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
  const share = SHARE.format(agreement);
  return {
    agreement: shadowed === 1 ? t`${share} on 1 device` : t`${share} on ${shadowed} devices`,
    candidate: timesOf(candidate_p50_s, candidate_p99_s),
    champion: timesOf(champion_p50_s, champion_p99_s),
  };
}

function timesOf(half: unknown, most: unknown): string {
  return typeof half === "number" && typeof most === "number"
    ? t`${duration(half)}, 99 % within ${duration(most)}`
    : "–";
}

/** How a device found the candidate: "wrong on 10%, before on 12%". */
export function verdictOf(trial: Trial): string {
  if (trial.reported_at === null) return t`has not told yet`;
  if (trial.fault_code) return trial.fault_sentence ?? trial.fault_code;
  const { candidate_accuracy, champion_accuracy, candidate_loss, champion_loss } = trial;
  if (typeof candidate_accuracy === "number" && typeof champion_accuracy === "number") {
    const [wrong, champion] = [1 - candidate_accuracy, 1 - champion_accuracy];
    return t`wrong on ${SHARE.format(wrong)}, the champion on ${SHARE.format(champion)}`;
  }
  const [loss, champion] = [candidate_loss ?? 0, champion_loss ?? 0];
  return t`loss ${LOSS.format(loss)}, the champion's ${LOSS.format(champion)}`;
}

/** How many of the group have told, as numbers. */
export function progressOf(rollout: Rollout): { devices: number; reports: number } {
  const { devices, reports } = rollout.figures as Readonly<Record<string, unknown>>;
  return { devices: typeof devices === "number" ? devices : 0, reports: typeof reports === "number" ? reports : 0 };
}

/** By how much more often a candidate may be wrong than the champion, or by what share its loss may be larger. */
export function toleranceOf(rollout: Rollout): string {
  const { threshold } = rollout.terms as Readonly<Record<string, unknown>>;
  return typeof threshold === "number" ? SHARE.format(threshold) : "–";
}

/** What shares of the devices try it one after another, and for how long: "10 %, then 50 %, then everybody …". */
export function courseOf(terms: Readonly<Record<string, unknown>>): string {
  const { share, phases, hold_s, within_s } = terms;
  const larger = Array.isArray(phases) ? phases : [];
  const shares = [share, ...larger].filter((one) => typeof one === "number").map((one) => SHARE.format(one));
  const course = t`${shares.join(t`, then `)}, then everybody`;
  if (typeof hold_s !== "number" || typeof within_s !== "number") return `${course}.`;
  return hold_s > 0
    ? t`${course}. Each share is watched ${duration(hold_s)} at least and ${duration(within_s)} at most.`
    : t`${course}. Each share is judged once all have told, and after ${duration(within_s)} at the latest.`;
}

/** Which of its phases it is in; undefined: it has one alone. */
export function phaseOf({ phase, phases, terms }: Rollout): string | undefined {
  if (phases === 1) return undefined;
  const { share, phases: larger } = terms as { readonly share: number; readonly phases: readonly number[] };
  const now = [share, ...larger][phase];
  return now === undefined ? undefined : t`${phase + 1} of ${phases}, with ${SHARE.format(now)} of the devices`;
}

/** Those that told last first, then those that have not told. */
export function latestOf(trials: readonly Trial[]): readonly Trial[] {
  return [...trials].sort((one, other) => (other.reported_at ?? "").localeCompare(one.reported_at ?? ""));
}
