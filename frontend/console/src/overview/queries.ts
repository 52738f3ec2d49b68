import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";

export type Overview = components["schemas"]["Overview"];
export type Repair = components["schemas"]["Repair"];

export const OVERVIEW = ["overview"] as const;
export const REPAIRS = ["repairs"] as const;

/** What is another once a fault is repaired, or put off. */
export const REPAIRED = [REPAIRS, OVERVIEW];

export const overviewQuery = queryOptions({
  queryKey: OVERVIEW,
  queryFn: async ({ signal }) => (await api.GET("/api/overview/", { signal })).data,
});

export const repairsQuery = queryOptions({
  queryKey: REPAIRS,
  queryFn: async ({ signal }) => (await api.GET("/api/repairs/", { signal })).data,
});
