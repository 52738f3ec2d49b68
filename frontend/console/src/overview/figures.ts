import type { Overview } from "./queries";

type Point = Overview["rounds"][number];

const DAY_MS = 86_400_000;
/** Days that a figure's line shows. */
const DAYS = 14;

export function readyDevices({ by_status }: Overview): number {
  return by_status.filter(({ status }) => status === "ready").reduce((sum, { devices }) => sum + devices, 0);
}

/** What a version is judged by: the held-out data, or else the devices' own. */
export function accuracyOf(point: Point): number | null {
  return point.accuracy ?? point.mean_accuracy;
}

/** The rounds, oldest first, whose accuracy is known, of the federation that published such a one last. */
export function latest({ rounds }: Overview): readonly (Point & { readonly accuracy: number })[] {
  const known = rounds.flatMap((one) => {
    const accuracy = accuracyOf(one);
    return accuracy === null ? [] : [{ ...one, accuracy }];
  });
  const newest = known.at(-1);
  return known.filter((one) => one.federation === newest?.federation);
}

/** How many rounds published a version in each of the last days, today last. */
export function publishedByDay({ at, published }: Overview): readonly number[] {
  const rounds = new Map(published.map((one) => [one.day, one.rounds]));
  return lastDays(at).map((day) => rounds.get(day) ?? 0);
}

/** Bytes that left the devices in each of the last days, today last. */
export function sentByDay({ at, traffic }: Overview): readonly number[] {
  const sent = new Map(traffic.map((one) => [one.day, one.update_bytes + one.portion_bytes + one.profile_bytes]));
  return lastDays(at).map((day) => sent.get(day) ?? 0);
}

/** Days in UTC, as the platform counts them, up to the one of `at`. */
function lastDays(at: string): readonly string[] {
  const now = Date.parse(at);
  return Array.from({ length: DAYS }, (_, place) => {
    const day = new Date(now - (DAYS - 1 - place) * DAY_MS);
    return day.toISOString().slice(0, "2026-01-01".length);
  });
}
