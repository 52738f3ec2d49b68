import { createContext, useContext } from "react";

/**
 * Figures that stand beside a table's rows and come by themselves: only the cells that show them are drawn when they have
 * come, the rows stay as they are.
 */
export function besideRows<Figures>() {
  const Beside = createContext<ReadonlyMap<string, Figures>>(new Map());
  return { Beside, useBeside: (row: string) => useContext(Beside).get(row) };
}

/** Figures by the row that they are of. */
export function byRow<Figures>(
  page: { readonly results: readonly Figures[] } | undefined,
  key: (figures: Figures) => string,
): ReadonlyMap<string, Figures> {
  return new Map(page?.results.map((figures) => [key(figures), figures]));
}
