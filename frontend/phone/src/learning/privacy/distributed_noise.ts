/** Distributed noise: devices add it to a secure sum, each its share: `coterie_learning.privacy.distributed_noise`. */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import type { Privacy } from ".";
import { clipped } from "./clipping";
import { MASKED, termsOf } from "./masking";

export const distributedNoise = kind(
  "privacy",
  "distributed_noise",
  {
    ...MASKED,
    noise_multiplier: v.optional(positive(1e3), 1),
    bits: v.optional(v.picklist([12, 16, 20]), 16),
  },
  (given): Privacy => ({
    releases: "masked_sums",
    noiseMultiplier: given.noise_multiplier,
    apart: null,
    protect: (update) => clipped(update, given.norm),
    masking: {
      terms: termsOf(given),
      bits: given.bits,
      norm: given.norm,
      fullSamples: null,
      noiseMultiplier: given.noise_multiplier,
    },
    sentence: `what your device learned goes, with noise, into a sum of ${given.min_devices} devices or more, in which nobody can read it`,
  }),
);
