import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

export type AgentRollout = components["schemas"]["AgentRollout"];
export type AgentVersion = components["schemas"]["AgentVersion"];
export type AgentReleases = components["schemas"]["AgentReleases"];
export type DeviceUpdate = components["schemas"]["DeviceUpdate"];

export const AGENT_ROLLOUTS = ["agent-rollouts"] as const;
export const AGENT_VERSIONS = ["agent-versions"] as const;

export const PART_STATES = ["asked", "waiting", "installed", "refused", "failed", "returned"] as const;

/** Which devices' parts are shown. */
export type PartsSearch = TableSearch & { readonly state?: (typeof PART_STATES)[number] };

export function partsSearch(raw: Record<string, unknown>): PartsSearch {
  return { ...tableSearch(raw), ...texts<Pick<PartsSearch, "state">>(raw, ["state"]) };
}

/** Roll-outs of the agent, youngest first. */
export function agentRolloutsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...AGENT_ROLLOUTS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/agent-rollouts/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** The one that runs or is paused, if there is one: a project has no two. */
export const activeRolloutQuery = queryOptions({
  queryKey: [...AGENT_ROLLOUTS, "active"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/agent-rollouts/", { params: { query: { active: true, page_size: 1 } }, signal })).data
      ?.results[0] ?? null,
});

export function agentRolloutQuery(id: string) {
  return queryOptions({
    queryKey: [...AGENT_ROLLOUTS, id],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/agent-rollouts/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function partsAsked(rollout: string, { state, ...search }: PartsSearch) {
  return { ...asked(search), rollout, ...(state !== undefined && { state }) };
}

/** Devices' parts in a roll-out, those that changed last first. */
export function partsQuery(rollout: string, search: PartsSearch) {
  const query = partsAsked(rollout, search);
  return queryOptions({
    queryKey: [...AGENT_ROLLOUTS, rollout, "parts", query],
    queryFn: async ({ signal }) => (await api.GET("/api/agent-updates/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** How many devices run each release of the agent, of those that carry `tag` where it is not blank. */
export function agentVersionsQuery(tag = "") {
  const query = tag === "" ? {} : { tag };
  return queryOptions({
    queryKey: [...AGENT_VERSIONS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/agent-versions/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export const agentReleasesQuery = queryOptions({
  queryKey: ["agent-releases"],
  queryFn: async ({ signal }) => (await api.GET("/api/agent-releases/", { signal })).data,
});
