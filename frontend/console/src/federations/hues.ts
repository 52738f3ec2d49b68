import { queryOptions, useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { api } from "../api/client";
import { FEDERATIONS } from "./queries";

const MOST = 500;

/** All federations by when they were made. */
const orderQuery = queryOptions({
  queryKey: [...FEDERATIONS, "order"],
  queryFn: async ({ signal }) => {
    const query = { sort: "created_at", page_size: MOST } as const;
    const { data } = await api.GET("/api/federations/", { params: { query }, signal });
    return data?.results.map(({ id }) => id) ?? [];
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** The hue that each federation has on every page, by the order in which they were made; undefined: not known yet. */
export function useFederationHue(): (federation: string) => number | undefined {
  const { data: order } = useQuery(orderQuery);
  return useCallback(
    (federation) => {
      const place = order?.indexOf(federation) ?? -1;
      return place < 0 ? undefined : place;
    },
    [order],
  );
}
