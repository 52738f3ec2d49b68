import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type HelpRequest = components["schemas"]["HelpRequest"];
export type HelpingMatrix = components["schemas"]["HelpingMatrix"];
export type Transfer = components["schemas"]["Transfer"];

const HELP = ["help"] as const;
const MANY = 500;

export function requestsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...HELP, "requests", query],
    queryFn: async ({ signal }) => (await api.GET("/api/help-requests/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** Who helped whom, over all transfers. */
export const matrixQuery = queryOptions({
  queryKey: [...HELP, "matrix"],
  queryFn: async ({ signal }) => (await api.GET("/api/helping-matrix/", { signal })).data,
});

/** The latest transfers, for the totals. */
export const transfersQuery = queryOptions({
  queryKey: [...HELP, "transfers"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/transfers/", { params: { query: { page_size: MANY } }, signal })).data,
});

/** The latest transfers of what was learned of a pair. */
export function transfersOfQuery(pair: string) {
  return queryOptions({
    queryKey: [...HELP, "transfers", "of", pair],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/transfers/", { params: { query: { pair, page_size: MANY } }, signal })).data,
  });
}

/** What a device has asked for. */
export function requestsOfQuery(device: string) {
  return queryOptions({
    queryKey: [...HELP, "requests", "of", device],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/help-requests/", { params: { query: { device, page_size: MANY } }, signal })).data,
  });
}
