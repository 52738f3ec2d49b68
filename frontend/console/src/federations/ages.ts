import type { components } from "../api/schema";
import type { Series } from "../chart/usePlot";

type Age = components["schemas"]["Age"];

/** A bar for each age up to the oldest, those without updates too; a second one where some were left out. */
export function byAge(ages: readonly Age[]): { readonly names: readonly string[]; readonly series: readonly Series[] } {
  const oldest = Math.max(0, ...ages.map((age) => age.staleness));
  const known = new Map(ages.map((age) => [age.staleness, age]));
  const rows = Array.from({ length: oldest + 1 }, (_, staleness) => known.get(staleness));
  const merged = { label: "updates", values: rows.map((row) => (row?.updates ?? 0) - (row?.left_out ?? 0)) };
  const leftOut = { label: "left out", values: rows.map((row) => row?.left_out ?? 0) };
  return {
    names: rows.map((_row, staleness) => String(staleness)),
    series: leftOut.values.some((count) => count > 0) ? [leftOut, merged] : [merged],
  };
}
