import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { numbers } from "../components/locale";
import { wholePercent } from "../components/units";
import { t } from "../language/t";

export type Evaluation = components["schemas"]["Evaluation"];
export type EvaluationDetail = components["schemas"]["EvaluationDetail"];
export type EvaluationPart = components["schemas"]["EvaluationPart"];
type Summary = components["schemas"]["EvaluationSummary"];
type Spread = components["schemas"]["EvaluationSpread"];

export const EVALUATIONS = ["evaluations"] as const;
const LATEST = 5;
/** As many as the longest page of a list shows. */
const MANY = 500;

/** The latest evaluations of a version, youngest first. */
export function evaluationsQuery(version: string) {
  return queryOptions({
    queryKey: [...EVALUATIONS, "of", version],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/evaluations/", { params: { query: { version, page_size: LATEST } }, signal })).data,
  });
}

/** Those of all versions of a pair that have ended well, the newest. */
export function finishedQuery(pair: string) {
  return queryOptions({
    queryKey: [...EVALUATIONS, "finished", pair],
    queryFn: async ({ signal }) =>
      (
        await api.GET("/api/evaluations/", {
          params: { query: { pair, state: "finished", page_size: MANY } },
          signal,
        })
      ).data,
  });
}

export function evaluationQuery(id: string) {
  return queryOptions({
    queryKey: [...EVALUATIONS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/evaluations/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function isActive({ state }: Evaluation): boolean {
  return state === "planned" || state === "measuring";
}

const SHARE = numbers({ style: "percent", maximumFractionDigits: 1 });
const LOSS = numbers({ maximumSignificantDigits: 4 });

/** What is told of each device, and how it is written: accuracies where the task has right and wrong, else losses. */
export function spreadOf(summary: Summary): {
  what: string;
  spread: Spread;
  overall: string;
  write: (of: number) => string;
} {
  if (summary.accuracies !== null && summary.accuracy !== null) {
    const write = (share: number) => SHARE.format(share);
    return { what: t`accuracy`, spread: summary.accuracies, overall: write(summary.accuracy), write };
  }
  const write = (loss: number) => LOSS.format(loss);
  return { what: t`loss`, spread: summary.losses, overall: write(summary.loss), write };
}

/** A row of words for a set of devices. */
export interface SummaryRow {
  readonly name: string;
  readonly devices: number;
  readonly samples: number;
  readonly mean: string;
  readonly median: string;
  readonly worst: string;
}

/** All devices, then those of each tag. */
export function rowsOf(evaluation: Evaluation): readonly SummaryRow[] {
  const { figures } = evaluation;
  if (figures === null || figures.summary === null) return [];
  const tags = Object.entries(figures.by_tag).map(([tag, summary]) => rowOf(tag, summary));
  return [rowOf(t`all devices`, figures.summary), ...tags];
}

function rowOf(name: string, summary: Summary): SummaryRow {
  const { spread, write } = spreadOf(summary);
  return {
    name,
    devices: summary.devices,
    samples: summary.samples,
    mean: write(spread.mean),
    median: write(spread.deciles[MEDIAN] ?? spread.mean),
    worst: write(spread.worst),
  };
}

/** Place of the 50% quantile among the deciles. */
const MEDIAN = 4;

/** The deciles as bars: "10%" to "90%". */
export function decilesOf(summary: Summary): readonly { readonly label: string; readonly value: number }[] {
  return spreadOf(summary).spread.deciles.map((value, place) => ({ label: wholePercent((place + 1) / 10), value }));
}

/** By version, the accuracy on the samples of all devices, of the youngest of `evaluations`, which come youngest first. */
export function accuraciesByVersion(evaluations: readonly Evaluation[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { version, figures } of evaluations) {
    const accuracy = figures?.summary?.accuracy;
    if (typeof accuracy === "number" && !found.has(version)) found.set(version, accuracy);
  }
  return found;
}

/** How a device found the version: "right on 90% of 40 samples". */
export function foundBy(part: EvaluationPart): string {
  if (part.reported_at === null) return t`has not told yet`;
  if (part.fault_code) return part.fault_sentence ?? part.fault_code;
  const samples = part.samples ?? 0;
  if (typeof part.accuracy === "number") return t`right on ${SHARE.format(part.accuracy)} of ${samples} samples`;
  const loss = LOSS.format(part.loss ?? 0);
  return t`loss ${loss} on ${samples} samples`;
}

/** Those that told last first, then those that have not told. */
export function latestOf(parts: readonly EvaluationPart[]): readonly EvaluationPart[] {
  return [...parts].sort((one, other) => (other.reported_at ?? "").localeCompare(one.reported_at ?? ""));
}
