import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type Group = components["schemas"]["Group"];
export type Membership = components["schemas"]["Membership"];
export type Split = components["schemas"]["Split"];

const GROUPS = ["groups"] as const;
const MANY = 200;

export function groupsQuery(federation: string) {
  return queryOptions({
    queryKey: [...GROUPS, federation],
    queryFn: async ({ signal }) =>
      (
        await api.GET("/api/groups/", {
          params: { query: { federation, current: true, sort: "name", page_size: MANY } },
          signal,
        })
      ).data,
  });
}

export function splitsQuery(federation: string) {
  return queryOptions({
    queryKey: [...GROUPS, federation, "splits"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/splits/", { params: { query: { federation, page_size: MANY } }, signal })).data,
  });
}

/** Who is in a federation's groups now; of one group, where it is given. */
export function membersAsked(federation: string, search: TableSearch & { readonly group?: number }) {
  const { group } = search;
  return { ...asked(search), federation, current: true, ...(group !== undefined && { group }) };
}

export function membersQuery(federation: string, search: TableSearch & { readonly group?: number }) {
  const query = membersAsked(federation, search);
  return queryOptions({
    queryKey: [...GROUPS, federation, "members", query],
    queryFn: async ({ signal }) => (await api.GET("/api/memberships/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** The groups that a device is in now, one of each federation at most. */
export function groupsOfQuery(device: string) {
  return queryOptions({
    queryKey: [...GROUPS, "of", device],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/memberships/", { params: { query: { device, current: true } }, signal })).data,
  });
}
