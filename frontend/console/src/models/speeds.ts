import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { t } from "../language/t";
import { PAIRS } from "./queries";

export type SpeedClass = components["schemas"]["SpeedClass"];
export type ClassSpeed = components["schemas"]["ClassSpeed"];

/** The classes of a pair's devices, the quickest first. */
export function speedClassesQuery(pair: string) {
  return queryOptions({
    queryKey: [...PAIRS, pair, "speed-classes"],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/pairs/{id}/speed-classes/", { params: { path: { id: pair } }, signal })).data,
  });
}

/** "The quickest", "the slowest", and between them by number. */
export function nameOfClass(place: number, classes: number): string {
  if (classes === 1) return t`All alike`;
  if (place === 0) return t`The quickest`;
  const number = place + 1;
  return number === classes ? t`The slowest` : t`Class ${number}`;
}

/** In which condition a device was. */
export const CONDITIONS = { yes: t`charging`, no: t`on battery`, unknown: t`charger not known` } as const;

/** What took so long, and in which condition: "a prediction with int8, on battery". */
export function saidOf({ work, form, charging }: Pick<ClassSpeed, "work" | "form" | "charging">): string {
  const what = work === "step" ? t`a train step` : form === "float32" ? t`a prediction` : t`a prediction with ${form}`;
  return `${what}, ${CONDITIONS[charging]}`;
}
