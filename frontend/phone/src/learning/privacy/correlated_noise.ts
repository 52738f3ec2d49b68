/** The device's part of DP-FTRL: clipping, and parts that are apart: a mirror of `coterie_learning.privacy.correlated_noise`. */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import type { Privacy } from ".";
import { clipped } from "./clipping";

const whole = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most));

export const correlatedNoise = kind(
  "privacy",
  "correlated_noise",
  {
    norm: v.optional(positive(1e3), 1),
    noise_multiplier: v.optional(positive(1e3), 4),
    separation_rounds: v.optional(whole(1000), 10),
    target_rounds: v.optional(whole(10_000), 100),
  },
  ({ norm, noise_multiplier, separation_rounds }): Privacy => ({
    releases: "sums",
    noiseMultiplier: noise_multiplier / columnLength(separation_rounds),
    apart: separation_rounds,
    masking: null,
    protect: (update) => clipped(update, norm),
    sentence: "the platform adds noise to the sum of all devices, which later rounds take back in part",
  }),
);

/** That of a column of the root of the matrix that sums rounds up, cut off after `bands`. */
function columnLength(bands: number): number {
  let [coefficient, squares] = [1, 1];
  for (let place = 1; place < bands; place++) {
    coefficient *= (2 * place - 1) / (2 * place);
    squares += coefficient * coefficient;
  }
  return Math.sqrt(squares);
}
