/**
 * A device's newest data in counts: the samples of each class, and how many the model predicted wrongly. A mirror of
 * `coterie_learning.profile`.
 */

/** One class in one batch. */
type ClassCount = readonly [label: number, samples: number, wrong: number];

/** Counts of the newest batches, from the oldest to the newest; plain data that can be stored. */
export interface ClassProfile {
  readonly classes: number;
  /** Batches that are kept. */
  readonly keep: number;
  /** The classes of each batch, in the order of their labels. */
  readonly batches: readonly (readonly ClassCount[])[];
}

/** Samples and wrong predictions by class, [classes] each. */
export interface Counts {
  readonly samples: readonly number[];
  readonly wrong: readonly number[];
}

/**
 * The profile after a batch of true `labels` that the model predicted as `predicted`. Throws RangeError for an empty
 * batch or labels outside the classes.
 */
export function observed(
  { classes, keep, batches }: ClassProfile,
  labels: readonly number[],
  predicted: readonly number[],
): ClassProfile {
  if (labels.length === 0 || labels.some((label) => label < 0 || label >= classes)) {
    throw new RangeError(`a batch needs samples, of classes 0 to ${classes - 1}`);
  }
  const found = new Map<number, [samples: number, wrong: number]>();
  for (const [at, label] of labels.entries()) {
    const [samples, wrong] = found.get(label) ?? [0, 0];
    found.set(label, [samples + 1, wrong + Number(predicted[at] !== label)]);
  }
  const batch = [...found].sort(([a], [b]) => a - b).map(([label, counts]): ClassCount => [label, ...counts]);
  return { classes, keep, batches: [...batches, batch].slice(-keep) };
}

/** Counts of the newest `batches` batches, or of fewer where there are no more. */
export const countsOf = (profile: ClassProfile, batches: number): Counts =>
  summed(profile, profile.batches.slice(-batches));

/** Counts of the batches that are older than the newest `batches`. */
export const countsBefore = (profile: ClassProfile, batches: number): Counts =>
  summed(profile, profile.batches.slice(0, -batches));

function summed({ classes }: ClassProfile, batches: ClassProfile["batches"]): Counts {
  const [samples, wrong] = [new Array<number>(classes).fill(0), new Array<number>(classes).fill(0)];
  for (const [label, more, moreWrong] of batches.flat()) {
    samples[label] = (samples[label] as number) + more;
    wrong[label] = (wrong[label] as number) + moreWrong;
  }
  return { samples, wrong };
}

/** Share of all samples that were wrong; 0 where there are none. */
export function errorOf({ samples, wrong }: Counts): number {
  const total = sum(samples);
  return total === 0 ? 0 : sum(wrong) / total;
}

/** Share of each class; zeros where there are no samples. */
export function priorOf({ samples }: Counts): number[] {
  const total = Math.max(1, sum(samples));
  return samples.map((one) => one / total);
}

/** Classes with at least `fewest` samples and a recall under `below`. */
export const troubledOf = ({ samples, wrong }: Counts, below: number, fewest: number): number[] =>
  samples.flatMap((one, label) => (one >= fewest && one - (wrong[label] as number) < below * one ? [label] : []));

/**
 * Jensen-Shannon divergence of two distributions, in bits: 0 where they are equal, 1 where disjoint (Lin 1991,
 * doi 10.1109/18.61115). An empty distribution (all zeros) has divergence 1 from any other.
 */
export function jensenShannon(p: readonly number[], q: readonly number[]): number {
  const [isP, isQ] = [p.some((one) => one !== 0), q.some((one) => one !== 0)];
  if (!isP || !isQ) return isP === isQ ? 0 : 1;
  const middle = p.map((one, at) => (one + (q[at] as number)) / 2);
  return Math.min(1, Math.max(0, (relativeEntropy(p, middle) + relativeEntropy(q, middle)) / 2));
}

/** In bits; `of` is positive wherever `p` is. */
const relativeEntropy = (p: readonly number[], of: readonly number[]): number =>
  sum(p.map((one, at) => (one > 0 ? one * Math.log2(one / (of[at] as number)) : 0)));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
