/** The device's part of central noise, which is clipping: the platform draws the noise. */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import type { Privacy } from ".";
import { clipped } from "./clipping";

export const centralNoise = kind(
  "privacy",
  "central_noise",
  {
    norm: v.optional(positive(1e3), 1),
    noise_multiplier: v.optional(positive(1e3), 1),
    quantile: v.optional(v.nullable(v.pipe(v.number(), v.gtValue(0), v.ltValue(1))), null),
  },
  ({ norm, noise_multiplier }): Privacy => ({
    releases: "sums",
    noiseMultiplier: noise_multiplier,
    apart: null,
    masking: null,
    protect: (update) => clipped(update, norm),
    sentence: "the platform adds noise to the sum of all devices, which hides yours from whoever sees versions",
  }),
);
