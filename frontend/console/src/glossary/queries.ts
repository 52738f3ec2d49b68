import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";

export type Term = components["schemas"]["Term"];

export const glossaryQuery = queryOptions({
  queryKey: ["glossary"],
  queryFn: async ({ signal }) => (await api.GET("/api/glossary/", { signal })).data,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The terms whose word or meaning contains `text`, in any case. */
export function matching(terms: readonly Term[], text: string): readonly Term[] {
  const wanted = text.trim().toLowerCase();
  return terms.filter(({ name, meaning }) => `${name} ${meaning}`.toLowerCase().includes(wanted));
}
