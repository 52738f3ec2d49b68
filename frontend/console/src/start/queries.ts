import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";

export type Example = components["schemas"]["Example"];

export const EXAMPLE = ["example"] as const;
const LOOK_MS = 2_000;

/** How the digits example stands; asked again and again while it is being set up. */
export const exampleQuery = queryOptions({
  queryKey: EXAMPLE,
  queryFn: async ({ signal }) => (await api.GET("/api/example/", { signal })).data,
  refetchInterval: ({ state }) => (state.data?.state === "running" ? LOOK_MS : false),
});

const ONE = { page_size: 1 } as const;

/** How many there are of what stands between an empty platform and a round: each is asked for as one row of its list. */
export const begunQuery = queryOptions({
  queryKey: ["federations", "begun"],
  queryFn: async ({ signal }) => {
    const [pairs, versions, devices, federations, rounds] = await Promise.all([
      api.GET("/api/pairs/", { params: { query: { ...ONE, state: "ready" } }, signal }),
      api.GET("/api/versions/", { params: { query: { ...ONE, role: "device" } }, signal }),
      api.GET("/api/devices/", { params: { query: { ...ONE, state: "enrolled" } }, signal }),
      api.GET("/api/federations/", { params: { query: ONE }, signal }),
      api.GET("/api/rounds/", { params: { query: { ...ONE, state: "published" } }, signal }),
    ]);
    return {
      pairs: pairs.data?.count ?? 0,
      versions: versions.data?.count ?? 0,
      devices: devices.data?.count ?? 0,
      federations: federations.data?.count ?? 0,
      rounds: rounds.data?.count ?? 0,
      pair: pairs.data?.results[0]?.id,
      federation: federations.data?.results[0]?.id,
    };
  },
  refetchInterval: 5_000, // only the page of the first steps asks, and what it waits for comes from everywhere
});

export type Begun = NonNullable<Awaited<ReturnType<NonNullable<typeof begunQuery.queryFn>>>>;
