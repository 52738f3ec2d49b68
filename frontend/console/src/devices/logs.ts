import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { t } from "../language/t";
import { DEVICES } from "./queries";

export type DeviceLog = components["schemas"]["DeviceLog"];

const LINES_AT_ONCE = 500;
const SHOWN = 10;
/** Between two looks at a request that somebody has yet to answer; no frame tells of it. */
const LOOK_MS = 5_000;
const OPEN: ReadonlySet<string> = new Set(["asked", "allowed"]);

export function isOpen({ state }: DeviceLog): boolean {
  return OPEN.has(state);
}

/** Requests for a device's log, the youngest first. */
export function deviceLogsQuery(device: string) {
  return queryOptions({
    queryKey: [...DEVICES, device, "logs"],
    queryFn: async ({ signal }) => {
      const query = { device, page_size: SHOWN };
      return (await api.GET("/api/device-logs/", { params: { query }, signal })).data;
    },
    refetchInterval: ({ state }) => (state.data?.results.some(isOpen) === true ? LOOK_MS : false),
  });
}

/** Whether a device can send its log. */
export function sendsLogQuery(id: string) {
  return queryOptions({
    queryKey: [...DEVICES, id, "sends-log"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/sends-log/", { params: { path: { id } }, signal })).data,
  });
}

/** All lines that came for a request, oldest first. */
export function deviceLogLinesQuery(log: string) {
  return queryOptions({
    queryKey: ["device-log-lines", log],
    queryFn: async ({ signal }) => {
      const lines = [];
      for (let page = 1; ; page++) {
        const query = { page, page_size: LINES_AT_ONCE };
        const { data } = await api.GET("/api/device-logs/{log}/lines/", { params: { path: { log }, query }, signal });
        lines.push(...(data?.results ?? []));
        if (data?.next == null) return lines;
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** How many hours of a log are asked for, by what a field says. */
export const HOURS = [
  { value: "1", label: t`the last hour` },
  { value: "6", label: t`the last 6 hours` },
  { value: "24", label: t`the last 24 hours` },
  { value: "72", label: t`the last 3 days` },
  { value: "168", label: t`the last 7 days` },
] as const;

export function hoursOf(hours: number): string {
  return HOURS.find(({ value }) => value === String(hours))?.label ?? t`the last ${String(hours)} hours`;
}
