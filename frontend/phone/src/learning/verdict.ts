/**
 * Whether a portion improved the device's model: a mirror of `coterie_learning.guard`. The samples are the same for both,
 * so only those count on which the two differ (McNemar 1947, doi 10.1007/BF02295996).
 */

export interface Judgement {
  /** Accuracy of the model as it was. */
  readonly before: number;
  /** Accuracy with the portion. */
  readonly after: number;
  readonly kept: boolean;
}

/**
 * Compare predictions `before` and `after` on samples with `labels`. The new model is kept where it wins more samples
 * than it loses, by more than one standard error of that difference. Throws RangeError where there are no samples.
 */
export function judge(labels: readonly number[], before: readonly number[], after: readonly number[]): Judgement {
  if (labels.length === 0) throw new RangeError("nothing can be judged without samples");
  const right = labels.map((label, at) => [before[at] === label, after[at] === label] as const);
  const won = right.filter(([was, is]) => is && !was).length;
  const lost = right.filter(([was, is]) => was && !is).length;
  return {
    before: right.filter(([was]) => was).length / labels.length,
    after: right.filter(([, is]) => is).length / labels.length,
    kept: won - lost > Math.sqrt(won + lost),
  };
}
