import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components, operations } from "../api/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch } from "../table/search";

export type Device = components["schemas"]["Device"];
export type Status = Device["status"];
type Query = NonNullable<operations["devices_list"]["parameters"]["query"]>;

export const DEVICES = ["devices"] as const;

/** Which devices a table shows, as it stands in the address. */
export interface DevicesSearch extends TableSearch {
  readonly status?: Status;
  /** Code of what stands first against training. */
  readonly reason?: string;
  readonly tag?: string;
  readonly version?: string;
}

export function devicesSearch(raw: Record<string, unknown>): DevicesSearch {
  const text = (name: string) => (typeof raw[name] === "string" && raw[name] !== "" ? { [name]: raw[name] } : {});
  return { ...tableSearch(raw), ...text("status"), ...text("reason"), ...text("tag"), ...text("version") };
}

export function devicesAsked(search: DevicesSearch): Query {
  const { status, reason, tag, version } = search;
  return {
    ...asked(search),
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
    ...(tag !== undefined && { tag }),
    ...(version !== undefined && { version }),
  };
}

export function devicesQuery(search: DevicesSearch) {
  const query = devicesAsked(search);
  return queryOptions({
    queryKey: [...DEVICES, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function deviceQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function whyQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "why"],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/{id}/why/", { params: { path: { id } }, signal })).data,
  });
}

export function timelineQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "timeline"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/timeline/", { params: { path: { id }, query: { page_size: 500 } }, signal }))
        .data,
  });
}

export function partsQuery(device: string) {
  return queryOptions({
    queryKey: [...DEVICES, device, "parts"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/assignments/", { params: { query: { device, page_size: 500 } }, signal })).data,
  });
}
