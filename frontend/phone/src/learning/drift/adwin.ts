/** ADWIN: a window that is cut where its halves differ (Bifet, Gavaldà 2007, doi 10.1137/1.9781611972771.42, ADWIN2). */
import * as v from "valibot";
import { detector } from "./detector";

/** Batches joined, samples, wrong ones. */
type Bucket = readonly [joined: number, samples: number, wrong: number];

/** Buckets of one size before the two oldest are joined (the paper's M): memory is logarithmic in the window. */
const SAME_SIZE = 5;

/** Drift is a cut after which the error is higher than before it; a cut to a lower error only drops old batches. */
export const adwin = detector(
  "adwin",
  { confidence: v.optional(v.pipe(v.number(), v.gtValue(0), v.ltValue(1)), 0.002) },
  { buckets: [] as readonly Bucket[] },
  ({ confidence }, memory, wrong, samples) => {
    let buckets = joined([...memory.buckets, [1, samples, wrong]]);
    let drifted = false;
    for (let cut = riseOf(buckets, confidence); cut !== null; cut = riseOf(buckets, confidence)) {
      drifted = drifted || cut > 0;
      buckets = buckets.slice(1);
    }
    return { state: { buckets }, drifted };
  },
);

/** By how much the error rose at the first cut that separates unlike parts; null where all parts are alike. */
function riseOf(buckets: readonly Bucket[], confidence: number): number | null {
  const [total, totalWrong] = [sum(buckets, 1), sum(buckets, 2)];
  const mean = totalWrong / total;
  const logTerm = Math.log((2 * Math.max(1, Math.log(total))) / confidence); // the paper's delta' = delta / ln n
  let [samples, wrong] = [0, 0];
  for (const [, more, moreWrong] of buckets.slice(0, -1)) {
    samples += more;
    wrong += moreWrong;
    const rise = (totalWrong - wrong) / (total - samples) - wrong / samples;
    const inverse = 1 / samples + 1 / (total - samples);
    const bound = Math.sqrt(2 * inverse * mean * (1 - mean) * logTerm) + (2 / 3) * inverse * logTerm;
    if (Math.abs(rise) > bound) return rise;
  }
  return null;
}

/** `buckets` with the two oldest of a size joined wherever there are more than `SAME_SIZE` of it. */
function joined(buckets: readonly Bucket[]): readonly Bucket[] {
  for (let size = 1; ; size *= 2) {
    const same = buckets.flatMap(([joinedBatches], at) => (joinedBatches === size ? [at] : []));
    if (same.length <= SAME_SIZE) return buckets;
    const [first, second] = same as [number, number];
    const [older, newer] = [buckets[first] as Bucket, buckets[second] as Bucket];
    const one: Bucket = [2 * size, older[1] + newer[1], older[2] + newer[2]];
    buckets = [...buckets.slice(0, first), one, ...buckets.slice(second + 1)];
  }
}

const sum = (buckets: readonly Bucket[], part: 1 | 2): number => buckets.reduce((total, one) => total + one[part], 0);
