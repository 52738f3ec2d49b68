/** Secure aggregation: the platform learns the sum of clipped updates and nothing of any by itself: `coterie_learning.privacy.secure_aggregation`. */
import * as v from "valibot";
import { kind } from "../kinds";
import type { Privacy } from ".";
import { clipped } from "./clipping";
import { MASKED, termsOf } from "./masking";
import { UNSPENT } from "./unspent";

export const secureAggregation = kind(
  "privacy",
  "secure_aggregation",
  {
    ...MASKED,
    bits: v.optional(v.picklist([8, 12, 16, 20, 24, 28, 32]), 16),
    full_samples: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000))), null),
  },
  (given): Privacy => ({
    ...UNSPENT,
    protect: (update) => clipped(update, given.norm),
    masking: {
      terms: termsOf(given),
      bits: given.bits,
      norm: given.norm,
      fullSamples: given.full_samples,
      noiseMultiplier: null,
    },
    sentence: `what your device learned goes into a sum of ${given.min_devices} devices or more, in which nobody can read it`,
  }),
);
