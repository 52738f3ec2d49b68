import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { t } from "../language/t";
import { labelOf, type Schema, type Values } from "../plan/schema";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type Federation = components["schemas"]["Federation"];
export type PersonalModels = components["schemas"]["PersonalModels"];
export type Annotation = components["schemas"]["Annotation"];
export type Rebuild = components["schemas"]["Rebuild"];
export type Round = components["schemas"]["Round"];
export type RoundDetail = components["schemas"]["RoundDetail"];
export type RoundEvent = components["schemas"]["RoundEvent"];
/** A kind in each slot, and the requirements. */
export type Plan = Readonly<Record<string, Values>>;
/** By slot and kind; requirements have no kinds. */
export type PlanSchema = Readonly<Record<string, Readonly<Record<string, Schema>>>>;

/** Between two looks at rebuilds that are under way. */
const LOOKED_AT_MS = 5000;

export const FEDERATIONS = ["federations"] as const;
export const ROUNDS = ["rounds"] as const;

export function federationsQuery(search: TableSearch = {}) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...FEDERATIONS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/federations/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** How the federations of a list do. */
export function federationFiguresQuery(search: TableSearch = {}) {
  const query = asked(search);
  return queryOptions({
    queryKey: ["federation-figures", query],
    queryFn: async ({ signal }) => (await api.GET("/api/federation-figures/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function federationQuery(id: string) {
  return queryOptions({
    queryKey: [...FEDERATIONS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/federations/{id}/", { params: { path: { id } }, signal })).data,
  });
}

/** Lineages of a federation that were made again without a forgotten device, the newest first. */
export function rebuildsQuery(federation: string) {
  return queryOptions({
    queryKey: [...FEDERATIONS, federation, "rebuilds"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/rebuilds/", { params: { query: { federation } }, signal })).data,
    refetchInterval: ({ state }) => state.data?.results.some((one) => one.state !== "done") && LOOKED_AT_MS,
  });
}

export function personalModelsQuery(id: string) {
  return queryOptions({
    queryKey: [...FEDERATIONS, id, "personal-models"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/personal-models/", { params: { path: { id } }, signal })).data,
  });
}

export function labelsQuery(id: string) {
  return queryOptions({
    queryKey: [...FEDERATIONS, id, "labels"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/labels/", { params: { path: { id } }, signal })).data,
  });
}

export const ROUND_STATES = [
  "planned",
  "open",
  "closing",
  "merging",
  "published",
  "abandoned",
] as const satisfies readonly Round["state"][];

/** Which rounds of a federation are shown. */
export interface RoundsSearch extends TableSearch {
  readonly state?: Round["state"];
}

export function roundsAsked(federation: string, search: RoundsSearch) {
  const { state } = search;
  return { federation, ...asked(search), ...(state !== undefined && { state }) };
}

export function roundsQuery(federation: string, search: RoundsSearch = {}) {
  const query = roundsAsked(federation, search);
  return queryOptions({
    queryKey: [...ROUNDS, "of", query],
    queryFn: async ({ signal }) => (await api.GET("/api/rounds/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function roundQuery(id: number) {
  return queryOptions({
    queryKey: [...ROUNDS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/rounds/{id}/", { params: { path: { id } }, signal })).data,
  });
}

/** What happened to a federation beside its rounds, oldest first. */
export function annotationsQuery(federation: string) {
  return queryOptions({
    queryKey: [...FEDERATIONS, federation, "annotations"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/annotations/", { params: { path: { id: federation } }, signal })).data,
  });
}

export function participationQuery(federation: string) {
  return queryOptions({
    queryKey: [...ROUNDS, "participation", federation],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/participation/", { params: { path: { id: federation } }, signal })).data,
  });
}

export function routesQuery(id: number) {
  return queryOptions({
    queryKey: [...ROUNDS, id, "routes"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/rounds/{id}/routes/", { params: { path: { id } }, signal })).data,
  });
}

export type PlanForecast = components["schemas"]["PlanForecast"];
export type RoundForecast = components["schemas"]["Forecast"];
export type Calibration = components["schemas"]["Calibration"];

export const PLAN_FORECASTS = ["plan-forecasts"] as const;

/** Plans that were tried before they met the fleet, the newest first. */
export function planForecastsQuery(federation: string) {
  return queryOptions({
    queryKey: [...PLAN_FORECASTS, federation],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/plan-forecasts/", { params: { path: { id: federation } }, signal })).data,
  });
}

/** What each round was expected to take as it opened, and took. */
export function roundForecastsQuery(federation: string) {
  return queryOptions({
    queryKey: ["round-forecasts", federation],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/forecasts/", { params: { path: { id: federation } }, signal })).data,
  });
}

const EVENTS_AT_ONCE = 500;

export function eventsQuery(id: number) {
  return queryOptions({
    queryKey: [...ROUNDS, id, "timeline"],
    queryFn: async ({ signal }) =>
      (
        await api.GET("/api/rounds/{id}/timeline/", {
          params: { path: { id }, query: { page_size: EVENTS_AT_ONCE } },
          signal,
        })
      ).data,
  });
}

export const planSchemaQuery = queryOptions({
  queryKey: ["plan-schema"],
  queryFn: async ({ signal }) => (await api.GET("/api/plan-schema/", { signal })).data as PlanSchema | undefined,
  staleTime: Number.POSITIVE_INFINITY,
});

export const presetsQuery = queryOptions({
  queryKey: ["presets"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/presets/", { signal })).data as Readonly<Record<string, Plan>> | undefined,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Of each preset, line by line: its paper, what it is for, and when it loses. */
export const presetNotesQuery = queryOptions({
  queryKey: ["preset-notes"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/preset-notes/", { signal })).data as Readonly<Record<string, readonly string[]>> | undefined,
  staleTime: Number.POSITIVE_INFINITY,
});

type PlanProblem = components["schemas"]["PlanProblem"];

/** What is wrong with a plan that is typed, what the devices with a tag lack for it, and what a pair's model sends. */
export function planCheckQuery(body: {
  readonly plan: Plan;
  readonly device_tag: string;
  readonly pair: string | null;
  readonly cloud_data: string | null;
}) {
  return queryOptions({
    queryKey: ["plan-check", body],
    queryFn: async ({ signal }) => (await api.POST("/api/plan-check/", { body, signal })).data,
    ...LIST,
  });
}

/** What is wrong with another plan for a federation; else what it would do there now. */
export function planPreviewQuery(federation: string, plan: Plan) {
  return queryOptions({
    queryKey: [...FEDERATIONS, federation, "plan-preview", plan],
    queryFn: async ({ signal }) =>
      (
        await api.POST("/api/federations/{id}/plan-preview/", {
          params: { path: { id: federation } },
          body: { plan },
          signal,
        })
      ).data,
    ...LIST,
  });
}

/** Why a plan cannot be given; undefined: nothing is known against it. */
export function refusalOf(problems: readonly PlanProblem[] | undefined): string | undefined {
  const first = problems?.[0];
  if (first === undefined) return undefined;
  return first.field === "" ? first.sentence : t`Under ${first.slot}, “${labelOf(first.field)}” does not fit.`;
}

/** A figure of a round, where it has it. */
export function metric(round: { metrics: unknown }, name: string): number | null {
  const { metrics } = round;
  const value = typeof metrics === "object" && metrics !== null ? (metrics as Record<string, unknown>)[name] : null;
  return typeof value === "number" ? value : null;
}
