import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";

export type Cluster = components["schemas"]["Cluster"];
export type Host = components["schemas"]["ClusterHost"];
export type Gang = components["schemas"]["Gang"];
export type TeamUse = components["schemas"]["TeamUse"];

/** Hosts, queue and use. Reasons change with time alone, which no frame tells. */
export const clusterQuery = queryOptions({
  queryKey: ["cluster"],
  queryFn: async ({ signal }) => (await api.GET("/api/cluster/", { signal })).data,
  refetchInterval: 5_000,
});
