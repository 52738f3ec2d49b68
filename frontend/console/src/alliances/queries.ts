import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import type { Pair } from "../models/queries";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

export type Alliance = components["schemas"]["Alliance"];
export type Party = components["schemas"]["AllianceParty"];

export const ALLIANCES = ["alliances"] as const;

export const ALLIANCE_STATES = ["waiting", "working", "finished", "failed", "cancelled"] as const;

/** Which alliances are shown. */
export type AlliancesSearch = TableSearch & { readonly state?: (typeof ALLIANCE_STATES)[number] };

export function alliancesSearch(raw: Record<string, unknown>): AlliancesSearch {
  return { ...tableSearch(raw), ...texts<Pick<AlliancesSearch, "state">>(raw, ["state"]) };
}

export function alliancesAsked({ state, ...search }: AlliancesSearch) {
  return { ...asked(search), ...(state !== undefined && { state }) };
}

/** Alliances, youngest first. */
export function alliancesQuery(search: AlliancesSearch) {
  const query = alliancesAsked(search);
  return queryOptions({
    queryKey: [...ALLIANCES, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/alliances/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function allianceQuery(id: string) {
  return queryOptions({
    queryKey: [...ALLIANCES, id],
    queryFn: async ({ signal }) => (await api.GET("/api/alliances/{id}/", { params: { path: { id } }, signal })).data,
  });
}

const MOST_PAIRS = 500;

/** The pairs that can be halves of a network, each with a version in use. */
export const halvesQuery = queryOptions({
  queryKey: ["pairs", "halves"],
  queryFn: async ({ signal }) => {
    const query = { page_size: MOST_PAIRS };
    return halvesIn((await api.GET("/api/pairs/", { params: { query }, signal })).data?.results ?? []);
  },
});

/** A half that an alliance can begin with. */
export interface HalfPair {
  readonly name: string;
  /** The version in use. */
  readonly version: string;
}

export interface Halves {
  readonly lower: readonly HalfPair[];
  readonly upper: readonly HalfPair[];
}

/** Lower halves learn from a gradient that they are given, upper ones name the cut that they take. */
export function halvesIn(pairs: readonly Pair[]): Halves {
  const lower: HalfPair[] = [];
  const upper: HalfPair[] = [];
  for (const { name, device_champion: version, recipe } of pairs) {
    const { loss, cut } = (recipe ?? {}) as { readonly loss?: { readonly kind?: unknown }; readonly cut?: unknown };
    if (version === null) continue;
    if (loss?.kind === "given_gradient") lower.push({ name, version });
    else if (typeof cut === "string" && cut !== "") upper.push({ name, version });
  }
  return { lower, upper };
}

const MOST_FOUND = 20;

/** Devices whose name has what was typed. */
export function devicesNamedQuery(typed: string) {
  const query = { page_size: MOST_FOUND, ...(typed !== "" && { search: typed }) };
  return queryOptions({
    queryKey: ["devices", "named", query],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/", { params: { query }, signal })).data?.results ?? [],
    ...LIST,
  });
}
