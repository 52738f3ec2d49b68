/** Durations counted in buckets a quarter of an octave wide, from 1 µs on: a mirror of `coterie_wire.latency`. */
const BUCKETS = 100;
const PER_OCTAVE = 4;
/** About so many durations are told, so that they do not tell how often the device works. */
export const TOLD = 1000;

/** The form that is the version itself. */
export const FLOAT32 = "float32";

/** Element i counts durations from 2**(i/4) µs to 2**((i+1)/4) µs; zeros at the end are left out. */
export type Counts = readonly number[];

/** One kind of work in one of the device's conditions, as the platform is told. */
export interface Latency {
  version: string;
  work: "step" | "predict";
  form: string;
  durations: { counts: Counts };
  charging?: "yes" | "no" | "unknown";
}

/** The bucket that counts a duration in seconds. */
export function bucketOf(durationS: number): number {
  if (durationS <= 1e-6) return 0;
  return Math.min(Math.floor(Math.log2(durationS * 1e6) * PER_OCTAVE), BUCKETS - 1);
}

/** Of durations in seconds, each counted so often. */
export function counted(durations: Iterable<readonly [durationS: number, times: number]>): Counts {
  const counts: number[] = [];
  for (const [durationS, times] of durations) {
    const bucket = bucketOf(durationS);
    while (counts.length <= bucket) counts.push(0);
    counts[bucket] = (counts[bucket] as number) + times;
  }
  return counts;
}

export const totalOf = (counts: Counts): number => counts.reduce((sum, count) => sum + count, 0);

/** The duration in seconds that `share` of all are not longer than, within 9 %; null where none was counted. */
export function quantileS(counts: Counts, share: number): number | null {
  const wanted = share * totalOf(counts);
  let seen = 0;
  for (const [bucket, count] of counts.entries()) {
    seen += count;
    if (count > 0 && seen >= wanted) return 2 ** ((bucket + 0.5) / PER_OCTAVE) / 1e6;
  }
  return null;
}

/** As if there were about `total` durations: every bucket that counts any still does. */
export function scaled(counts: Counts, total: number): Counts {
  const whole = Math.max(totalOf(counts), 1);
  return counts.map((count) => (count > 0 ? Math.max(1, Math.round((count * total) / whole)) : 0));
}
