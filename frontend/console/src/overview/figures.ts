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

/** The round that published last, and the accuracy of its federation's versions up to then. */
export function latest({ rounds }: Overview): { point: Point; values: readonly (number | null)[] } | undefined {
  const point = rounds.findLast((one) => accuracyOf(one) !== null);
  if (point === undefined) return undefined;
  return { point, values: rounds.filter((one) => one.federation === point.federation).map(accuracyOf) };
}

/** How many rounds published a version in each of the last days until `overview.at`, today last. */
export function publishedByDay({ at, rounds }: Overview): readonly number[] {
  const counts = Array.from({ length: DAYS }, () => 0);
  const now = Date.parse(at);
  for (const round of rounds) {
    const ago = Math.floor((now - Date.parse(round.at)) / DAY_MS);
    const place = DAYS - 1 - Math.max(0, ago);
    if (place >= 0) counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

/** Bytes that left the devices in each of the last days. */
export function sentByDay({ traffic }: Overview): readonly number[] {
  return traffic.slice(-DAYS).map((day) => day.update_bytes + day.portion_bytes + day.profile_bytes);
}
