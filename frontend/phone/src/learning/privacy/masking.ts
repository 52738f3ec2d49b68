/** How updates are summed so that none of them can be read: what `secure_aggregation` and `distributed_noise` share. */
import * as v from "valibot";
import { MOST_MEMBERS } from "../../wire/secure_sum";
import { positive, within } from "../kinds";

/** What a sum promises to those who take part in it, each of whom checks it. */
export interface Terms {
  /** Devices whose updates are summed, at least. */
  readonly fewest: number;
  /** The share of devices that may work together with the platform. */
  readonly corrupted: number;
  /** The share of devices that may be lost on the way. */
  readonly dropped: number;
  readonly adversary: "curious" | "split_view";
}

export interface Masking {
  readonly terms: Terms;
  /** Of a number of the sum. */
  readonly bits: number;
  /** Of an update, at most. */
  readonly norm: number;
  /** Samples from which on an update counts in full; null: each does. */
  readonly fullSamples: number | null;
  /** Standard deviation, in sensitivities, of the noise that devices add to the sum; null: they add none. */
  readonly noiseMultiplier: number | null;
}

export const MASKED = {
  min_devices: v.optional(v.pipe(v.number(), v.integer(), v.minValue(3), v.maxValue(MOST_MEMBERS)), 10),
  norm: v.optional(positive(1e3), 1),
  corrupted: v.optional(within(0, 0.45), 0.1),
  dropped: v.optional(within(0, 0.45), 0.2),
  adversary: v.optional(v.picklist(["curious", "split_view"]), "curious"),
  step_s: v.optional(within(1, 86_400), 60),
};

export const termsOf = (given: Omit<Terms, "fewest"> & { readonly min_devices: number }): Terms => ({
  fewest: given.min_devices,
  corrupted: given.corrupted,
  dropped: given.dropped,
  adversary: given.adversary,
});
