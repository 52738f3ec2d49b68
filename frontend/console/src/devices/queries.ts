import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components, operations } from "../api/schema";
import { t } from "../language/t";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

export type Device = components["schemas"]["Device"];
export type Status = Device["status"];
export type Observation = components["schemas"]["Observation"];
export type Departure = components["schemas"]["Departure"];
export type Forgetting = components["schemas"]["Forgetting"];
export type Neighbourhood = components["schemas"]["Neighbourhood"];
type Query = NonNullable<operations["devices_list"]["parameters"]["query"]>;

export const DEVICES = ["devices"] as const;

export const STATUSES = [
  "ready",
  "waiting",
  "paused",
  "pinned",
  "quarantined",
  "absent",
  "never_seen",
  "left",
  "revoked",
] as const satisfies readonly Status[];

/** What each state means. */
export const WORDS: Readonly<Record<Status, string>> = {
  ready: t`ready to train`,
  waiting: t`waiting for their conditions`,
  paused: t`paused by an operator`,
  pinned: t`pinned to a version`,
  quarantined: t`in quarantine`,
  absent: t`absent`,
  never_seen: t`never seen`,
  left: t`left the fleet`,
  revoked: t`revoked`,
};

/** Which devices are shown. */
export interface DevicesFilter {
  readonly status?: Status;
  /** Code of what stands first against training. */
  readonly reason?: string;
  readonly tag?: string;
  readonly version?: string;
  /** Release of the agent. */
  readonly agent?: string;
  /** Code of why its agent takes no other release. */
  readonly refuses_updates?: string;
  /** Whether they would train now. */
  readonly ready?: boolean;
}

/** Which devices a table shows and how, as it stands in the address. */
export interface DevicesSearch extends TableSearch, DevicesFilter {}

export type DeviceLatency = components["schemas"]["DeviceLatency"];

/** How quick a device is, by what was timed and in which condition. */
export function latenciesQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "latencies"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/latencies/", { params: { path: { id } }, signal })).data,
  });
}

export function devicesSearch(raw: Record<string, unknown>): DevicesSearch {
  return { ...tableSearch(raw), ...devicesFilter(raw) };
}

/** The filter's part of an address. */
export function devicesFilter(raw: Record<string, unknown>): DevicesFilter {
  return {
    ...texts<Omit<DevicesFilter, "ready">>(raw, ["status", "reason", "tag", "version", "agent", "refuses_updates"]),
    ...(typeof raw.ready === "boolean" && { ready: raw.ready }),
  };
}

export function devicesAsked(search: DevicesSearch): Query {
  return { ...asked(search), ...devicesFilter({ ...search }) };
}

export function devicesQuery(search: DevicesSearch) {
  const query = devicesAsked(search);
  return queryOptions({
    queryKey: [...DEVICES, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** How the devices of a list do. */
export function deviceFiguresQuery(search: DevicesSearch) {
  const query = devicesAsked(search);
  return queryOptions({
    queryKey: ["device-figures", query],
    queryFn: async ({ signal }) => (await api.GET("/api/device-figures/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** Those that joined with an enrolment token, the youngest first. */
export function joinedQuery(token: number, most: number) {
  const query = { enrolled_with: token, sort: "-enrolled_at", page_size: most } as const;
  return queryOptions({
    queryKey: [...DEVICES, "joined", query],
    queryFn: async ({ signal }) => (await api.GET("/api/devices/", { params: { query }, signal })).data,
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

export function departuresQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "departures"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/departures/", { params: { path: { id } }, signal })).data,
  });
}

export function forgettingQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "forgetting"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/forgetting/", { params: { path: { id } }, signal })).data,
  });
}

export function neighboursQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "neighbours"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/neighbours/", { params: { path: { id } }, signal })).data,
  });
}
