import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type Pair = components["schemas"]["Pair"];
export type Version = components["schemas"]["Version"];
export type Graph = components["schemas"]["Graph"];
export type Comparison = components["schemas"]["Comparison"];

export const PAIRS = ["pairs"] as const;
export const VERSIONS = ["versions"] as const;

export function pairsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...PAIRS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/pairs/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function pairQuery(id: string) {
  return queryOptions({
    queryKey: [...PAIRS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/pairs/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function graphQuery(pair: string) {
  return queryOptions({
    queryKey: [...PAIRS, pair, "graph"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/pairs/{id}/graph/", { params: { path: { id: pair } }, signal })).data,
  });
}

const MANY = 500;

/** Data sets that operators gave. */
export const datasetsQuery = queryOptions({
  queryKey: ["datasets"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/datasets/", { params: { query: { page_size: MANY } }, signal })).data?.results,
});

export function versionQuery(id: string) {
  return queryOptions({
    queryKey: [...VERSIONS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/versions/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function comparisonQuery(first: string, second: string) {
  return queryOptions({
    queryKey: [...VERSIONS, first, "compare", second],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/versions/{first}/compare/{second}/", { params: { path: { first, second } }, signal })).data,
  });
}

/** As people call it: "cloud 2", "device 7", "device 3 of group-1". */
export function nameOf(version: Version): string {
  const lineage = version.lineage === "" ? "" : ` of ${version.lineage}`;
  return `${version.role} ${version.number}${lineage}`;
}
