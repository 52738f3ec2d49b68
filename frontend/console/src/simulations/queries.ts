import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { PLAN_FORECASTS } from "../federations/queries";
import { t } from "../language/t";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import { type TableSearch, texts } from "../table/search";

export type Run = components["schemas"]["SimulationRun"];
export type RunDetail = components["schemas"]["SimulationRunDetail"];
export type TriedPlan = components["schemas"]["TriedPlan"];

export const RUNS = ["simulation-runs"] as const;
export const SIMULATION_STATES = [
  "queued",
  "running",
  "succeeded",
  "failed",
  "cancelled",
] as const satisfies readonly Run["state"][];
const NEWEST_FIRST = "-created_at" as never;

/** Which runs are shown. */
export interface RunsFilter {
  readonly state?: (typeof SIMULATION_STATES)[number];
  /** The simulated fleet that the runs of a sweep have in common. */
  readonly fleet?: string;
}

/** Which plans that were tried are shown. */
export interface TriedFilter {
  readonly state?: (typeof SIMULATION_STATES)[number];
}

export function runsFilter(raw: Record<string, unknown>): RunsFilter {
  return texts<RunsFilter>(raw, ["state", "fleet"]);
}

export function triedFilter(raw: Record<string, unknown>): TriedFilter {
  return texts<TriedFilter>(raw, ["state"]);
}

export function runsAsked(search: TableSearch & RunsFilter) {
  return { sort: NEWEST_FIRST, ...asked(search), ...runsFilter({ ...search }) };
}

export function triedAsked(search: TableSearch & TriedFilter) {
  return { sort: NEWEST_FIRST, ...asked(search), ...triedFilter({ ...search }) };
}

export function runsQuery(search: TableSearch & RunsFilter) {
  const query = runsAsked(search);
  return queryOptions({
    queryKey: [...RUNS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/simulation-runs/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function triedQuery(search: TableSearch & TriedFilter) {
  const query = triedAsked(search);
  return queryOptions({
    queryKey: [...PLAN_FORECASTS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/plan-forecasts/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** The best runs of a sweep. */
export function sweepQuery(fleet: string) {
  const query = { fleet, sort: "-accuracy" as never, page_size: PAGE_SIZE };
  return queryOptions({
    queryKey: [...RUNS, "of", fleet],
    queryFn: async ({ signal }) => (await api.GET("/api/simulation-runs/", { params: { query }, signal })).data,
  });
}

/** One run, with what it found. */
export function runQuery(id: string) {
  return queryOptions({
    queryKey: [...RUNS, id],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/simulation-runs/{id}/", { params: { path: { id } }, signal })).data,
  });
}

/** One plan that was tried, beside the rounds that then happened. */
export function triedPlanQuery(id: string) {
  return queryOptions({
    queryKey: [...PLAN_FORECASTS, id],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/plan-forecasts/{id}/", { params: { path: { id } }, signal })).data,
  });
}

/** What people call the fleet of a run: its model and its samples. */
export function nameOf({ pair_name, data_name }: Pick<Run, "pair_name" | "data_name">): string {
  return pair_name === "" ? t`a fleet of an older release` : t`${pair_name} on ${data_name}`;
}
