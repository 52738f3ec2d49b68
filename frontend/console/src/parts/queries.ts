import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

export type Part = components["schemas"]["Part"];
type State = Part["state"];

export const STATES = [
  "offered",
  "accepted",
  "joined",
  "delivered",
  "released",
  "dropped",
  "rejected",
] as const satisfies readonly State[];

/** Whose parts in which rounds are shown. */
interface PartsFilter {
  readonly state?: State;
  readonly device?: string;
  readonly federation?: string;
}

/** The same as it stands in the address. */
export interface PartsSearch extends TableSearch, PartsFilter {}

export function partsSearch(raw: Record<string, unknown>): PartsSearch {
  return { ...tableSearch(raw), ...texts<PartsFilter>(raw, ["state", "device", "federation"]) };
}

export function partsAsked(search: PartsSearch) {
  const { state, device, federation } = search;
  return {
    ...asked(search),
    ...(state !== undefined && { state }),
    ...(device !== undefined && { device }),
    ...(federation !== undefined && { federation }),
  };
}

export function partsQuery(search: PartsSearch) {
  const query = partsAsked(search);
  return queryOptions({
    queryKey: ["rounds", "parts", query],
    queryFn: async ({ signal }) => (await api.GET("/api/assignments/", { params: { query }, signal })).data,
    ...LIST,
  });
}
