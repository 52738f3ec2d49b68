import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { t } from "../language/t";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type Pair = components["schemas"]["Pair"];
export type Version = components["schemas"]["Version"];
export type Variant = components["schemas"]["Variant"];
export type Ensemble = components["schemas"]["Ensemble"];
export type Graph = components["schemas"]["Graph"];
export type Dataset = components["schemas"]["Dataset"];
export type Comparison = components["schemas"]["Comparison"];

export const PAIRS = ["pairs"] as const;
export const VERSIONS = ["versions"] as const;
export const DATASETS = ["datasets"] as const;

/** As many as the longest page of a list shows. */
const MANY = 500;

export function pairsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...PAIRS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/pairs/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** How the pairs of a list do. */
export function pairFiguresQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...PAIRS, "figures", query],
    queryFn: async ({ signal }) => (await api.GET("/api/pair-figures/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** Versions of a pair, a page at a time; the newest first unless another order is asked for. */
function versionsAsked(pair: string, search: TableSearch) {
  return { sort: "-created_at" as const, ...asked(search), pair };
}

export function versionsQuery(pair: string, search: TableSearch) {
  const query = versionsAsked(pair, search);
  return queryOptions({
    queryKey: [...VERSIONS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/versions/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function versionFiguresQuery(pair: string, search: TableSearch) {
  const query = versionsAsked(pair, search);
  return queryOptions({
    queryKey: [...VERSIONS, "figures", query],
    queryFn: async ({ signal }) => (await api.GET("/api/version-figures/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function pairQuery(id: string) {
  return queryOptions({
    queryKey: [...PAIRS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/pairs/{id}/", { params: { path: { id } }, signal })).data,
  });
}

/** The newest versions of a pair and what came of what; older ones are asked for by who wants to see them. */
export function graphQuery(pair: string, newest = MANY) {
  return queryOptions({
    queryKey: [...PAIRS, pair, "graph", newest],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/pairs/{id}/graph/", { params: { path: { id: pair }, query: { newest } }, signal })).data,
    ...LIST,
  });
}

/** Data sets that operators gave. */
export const datasetsQuery = queryOptions({
  queryKey: [...DATASETS, "all"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/datasets/", { params: { query: { page_size: MANY } }, signal })).data?.results,
});

/** Data sets beside a pair: whether its models can take their samples, and why not. */
export function fittingQuery(pair: string) {
  return queryOptions({
    queryKey: [...DATASETS, "beside", pair],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/pairs/{id}/datasets/", { params: { path: { id: pair } }, signal })).data,
  });
}

export function datasetListQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...DATASETS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/datasets/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function versionQuery(id: string) {
  return queryOptions({
    queryKey: [...VERSIONS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/versions/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function variantsQuery(version: string) {
  return queryOptions({
    queryKey: [...VERSIONS, version, "variants"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/versions/{id}/variants/", { params: { path: { id: version } }, signal })).data,
  });
}

export function ensemblesQuery(version: string) {
  return queryOptions({
    queryKey: [...VERSIONS, version, "ensembles"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/versions/{id}/ensembles/", { params: { path: { id: version } }, signal })).data,
  });
}

export function comparisonQuery(first: string, second: string) {
  return queryOptions({
    queryKey: [...VERSIONS, first, "compare", second],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/versions/{first}/compare/{second}/", { params: { path: { first, second } }, signal })).data,
  });
}

/** As people call it: "cloud 2", "device 7", "device 3 of group-1", "the one of the fair (device 7)". */
export function nameOf(version: Version): string {
  const numbered = numberedOf(version);
  return version.name ? `${version.name} (${numbered})` : numbered;
}

function numberedOf({ role, number, lineage }: Version): string {
  if (role === "cloud") return lineage === "" ? t`cloud ${number}` : t`cloud ${number} of ${lineage}`;
  return lineage === "" ? t`device ${number}` : t`device ${number} of ${lineage}`;
}

/** Why nothing can be made of a pair yet; undefined: it is ready. */
export function unreadyOf({ state }: Pair): string | undefined {
  if (state === "ready") return undefined;
  return state === "rejected" ? t`The pair is rejected.` : t`The pair is checking.`;
}
