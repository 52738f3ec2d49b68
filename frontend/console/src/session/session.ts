import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { t } from "../language/t";

export type Session = components["schemas"]["Session"];

/** Who is signed in, and for each action whether the platform would allow it, and if not why. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ signal }) => (await api.GET("/api/session/", { signal })).data,
  staleTime: 60_000,
});

export interface Permission {
  readonly allowed: boolean;
  /** Why not, in the platform's words. */
  readonly why: string;
}

/** Whether the person may do `action` (a name of the audit log, say `fleet.revoke_device`). */
export function useMay(action: string): Permission {
  const { data } = useQuery(sessionQuery);
  const found = data?.may.find((may) => may.action === action);
  if (found === undefined) return { allowed: false, why: t`Looking up what you may do…` };
  return { allowed: found.allowed, why: found.sentence };
}

/** The person; null until it is known who it is. */
export function useOperator() {
  return useQuery(sessionQuery).data?.operator ?? null;
}
