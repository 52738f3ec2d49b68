import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, texts } from "../table/search";

export type Channel = components["schemas"]["Channel"];
export type Rule = components["schemas"]["Rule"];
export type Incident = components["schemas"]["Incident"];
export type Notice = components["schemas"]["Notice"];
export type ChannelKind = Channel["kind"];
export type RuleKind = Rule["kind"];
export type Severity = Incident["severity"];

export const CHANNELS = ["alert-channels"] as const;
export const RULES = ["alert-rules"] as const;
export const INCIDENTS = ["alert-incidents"] as const;
export const NOTICES = ["alert-notices"] as const;
/** Rules are looked at by the clock, so that no frame of the socket tells of what they find. */
const LOOKED_AT_MS = 10_000;

export const NOTICE_STATES = ["held", "pending", "delivered", "failed"] as const satisfies readonly Notice["state"][];
export const CHANGES = ["firing", "resolved", "test"] as const satisfies readonly Notice["change"][];

/** Which notices are shown. */
export interface NoticesFilter {
  readonly state?: Notice["state"];
  readonly change?: Notice["change"];
}

export function noticesFilter(raw: Record<string, unknown>): NoticesFilter {
  return texts<NoticesFilter>(raw, ["state", "change"]);
}

export function noticesAsked(search: TableSearch & NoticesFilter) {
  return { ...asked(search), ...noticesFilter({ ...search }) };
}

export function noticesQuery(search: TableSearch & NoticesFilter) {
  const query = noticesAsked(search);
  return queryOptions({
    queryKey: [...NOTICES, query],
    queryFn: async ({ signal }) => (await api.GET("/api/alert-notices/", { params: { query }, signal })).data,
    refetchInterval: LOOKED_AT_MS,
    ...LIST,
  });
}

/** What is wrong now. */
export function firingQuery(search: TableSearch) {
  const query = { ...asked(search), firing: true };
  return queryOptions({
    queryKey: [...INCIDENTS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/alert-incidents/", { params: { query }, signal })).data,
    refetchInterval: LOOKED_AT_MS,
    ...LIST,
  });
}

export function rulesQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...RULES, query],
    queryFn: async ({ signal }) => (await api.GET("/api/alert-rules/", { params: { query }, signal })).data,
    refetchInterval: LOOKED_AT_MS,
    ...LIST,
  });
}

export function channelsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...CHANNELS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/alert-channels/", { params: { query }, signal })).data,
    ...LIST,
  });
}
