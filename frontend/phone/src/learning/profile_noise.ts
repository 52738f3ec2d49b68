/**
 * Noise on a profile: local differential privacy of its two histograms, the samples found and those missed by class. A
 * mirror of `coterie_learning.profile_noise`, which says what it covers.
 */
import { costOf, epsilonOf } from "./accounting";
import type { HelpRules } from "./help";
import { wholeNoise } from "./noise";
import type { Counts } from "./profile";

/** How far another sample in one's place moves a profile. */
const SENSITIVITY = Math.SQRT2;
/** Standard deviations of its noise that a class has to have, or it is taken to be absent. */
const KEPT = 2;

/** What noise of the device's own leaves to be learned of one of its samples. */
export interface SampleNoise {
  readonly epsilon: number;
  readonly delta: number;
}

/**
 * `counts` with Gaussian noise of `noiseMultiplier` · √2 on how many of each class were found and were missed. What
 * follows is computed from the noised counts alone: classes within the noise are left out, and none of the others has
 * less than no samples found or missed. The `key` of 256 bits is secret and serves once.
 */
export function noised({ samples, wrong }: Counts, noiseMultiplier: number, key: bigint): Counts {
  const [deviation, classes] = [noiseMultiplier * SENSITIVITY, samples.length];
  const [onFound, onMissed] = ["found", "missed"].map((name) => wholeNoise(deviation, key, name, classes)) as [
    Float64Array,
    Float64Array,
  ];
  const fewest = Math.max(1, KEPT * Math.SQRT2 * deviation);
  const found = samples.map((one, label) => one - (wrong[label] as number) + (onFound[label] as number));
  const all = found.map((one, label) => one + (wrong[label] as number) + (onMissed[label] as number));
  const kept = all.map((one) => (one < fewest ? 0 : one));
  return {
    samples: kept,
    wrong: kept.map((one, label) => one - Math.min(Math.max(found[label] as number, 0), one)),
  };
}

/**
 * What profiles and requests together tell of one sample, while a plan lasts; null: nothing bounds that. It is counted
 * in as many as its batches are among the newest of.
 */
export function sampleNoise(rules: HelpRules, delta: number): SampleNoise | null {
  const { noiseMultiplier, windowBatches, reportBatches, recentBatches, coolDownBatches } = rules;
  if (noiseMultiplier === 0) return null;
  const reports = Math.ceil(windowBatches / reportBatches);
  const requests = Math.ceil(recentBatches / coolDownBatches);
  const epsilon = epsilonOf((reports + requests) * costOf(noiseMultiplier), delta);
  return Number.isFinite(epsilon) ? { epsilon, delta } : null;
}
