import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import type { Schema } from "../plan/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

export type Job = components["schemas"]["TrainingJob"];
export type JobKind = Job["kind"];

export const JOBS = ["jobs"] as const;
/** A log keeps twice as many lines. */
const LINES_AT_ONCE = 500;

export const STATES = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

/** Which jobs are shown. */
interface JobsFilter {
  readonly kind?: JobKind;
  readonly state?: (typeof STATES)[number];
}
export type JobsSearch = TableSearch & JobsFilter;

/** What of an address chooses jobs. */
export function jobsFilter(raw: Record<string, unknown>): JobsFilter {
  return texts<JobsFilter>(raw, ["kind", "state"]);
}

export function jobsSearch(raw: Record<string, unknown>): JobsSearch {
  return { ...tableSearch(raw), ...jobsFilter(raw) };
}

export function jobsAsked(search: JobsSearch) {
  return { ...asked(search), ...jobsFilter({ ...search }) };
}

export function jobsQuery(search: JobsSearch) {
  const query = jobsAsked(search);
  return queryOptions({
    queryKey: [...JOBS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/jobs/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** Those of a pair, the youngest first. */
export function jobsOfQuery(pair: string) {
  return queryOptions({
    queryKey: [...JOBS, "of", pair],
    queryFn: async ({ signal }) => (await api.GET("/api/jobs/", { params: { query: { pair } }, signal })).data,
  });
}

export function jobQuery(id: string) {
  return queryOptions({
    queryKey: [...JOBS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/jobs/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export type JobWorkers = components["schemas"]["JobWorkers"];

/** Where a job's workers are, or why they wait. Reasons change with time alone, which no frame tells. */
export function workersQuery(id: string) {
  return queryOptions({
    queryKey: [...JOBS, id, "workers"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/jobs/{id}/workers/", { params: { path: { id } }, signal })).data,
    refetchInterval: 5_000,
  });
}

/** Who starts workers, of the hosts that are there. */
export const launchersQuery = queryOptions({
  queryKey: ["launchers"],
  queryFn: async ({ signal }) => (await api.GET("/api/launchers/", { signal })).data,
});

export type Point = components["schemas"]["EpochPoint"];

/** The epochs of the cloud model's training so far. */
export function curveQuery(id: string) {
  return queryOptions({
    queryKey: [...JOBS, id, "curve"],
    queryFn: async ({ signal }) => (await api.GET("/api/jobs/{id}/curve/", { params: { path: { id } }, signal })).data,
  });
}

export const strategySchemaQuery = queryOptions({
  queryKey: ["strategy-schema"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/strategy-schema/", { signal })).data as Readonly<Record<string, Schema>> | undefined,
  staleTime: Number.POSITIVE_INFINITY,
});

/** What a job has told of itself, oldest first. */
export function logQuery(id: string) {
  return queryOptions({
    queryKey: [...JOBS, id, "log"],
    queryFn: async ({ signal }) => {
      const page = async (number: number) => {
        const query = { page: number, page_size: LINES_AT_ONCE };
        return (await api.GET("/api/jobs/{id}/log/", { params: { path: { id }, query }, signal })).data;
      };
      const first = await page(1);
      const second = first?.next == null ? undefined : await page(2);
      return [...(first?.results ?? []), ...(second?.results ?? [])];
    },
  });
}
