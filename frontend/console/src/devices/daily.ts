import type { Departure } from "./queries";

export type Kind = Departure["kind"];

export const KINDS: readonly { readonly kind: Kind; readonly words: string }[] = [
  { kind: "update", words: "updates" },
  { kind: "portion", words: "portions for other devices" },
  { kind: "profile", words: "profiles of its data" },
];

/** Bytes that left a device, by day and kind; days on which nothing did are left out. */
export function daily(departures: readonly Departure[]): {
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[];
} {
  const days = new Map<string, Map<Kind, number>>();
  for (const { at, kind, size_bytes } of departures) {
    const day = at.slice(0, 10);
    const sizes = days.get(day) ?? new Map<Kind, number>();
    sizes.set(kind, (sizes.get(kind) ?? 0) + size_bytes);
    days.set(day, sizes);
  }
  const ordered = [...days].sort(([one], [other]) => one.localeCompare(other));
  return {
    times: ordered.map(([day]) => Date.parse(day) / 1000),
    series: KINDS.map(({ kind, words }) => ({
      label: words,
      values: ordered.map(([, sizes]) => sizes.get(kind) ?? 0),
    })),
  };
}

/** Bytes and how many of each kind. */
export function totals(
  departures: readonly Departure[],
  kind: Kind,
): { readonly bytes: number; readonly count: number } {
  const own = departures.filter((departure) => departure.kind === kind);
  return {
    bytes: own.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    count: own.reduce((sum, { count }) => sum + count, 0),
  };
}
