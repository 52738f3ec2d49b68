/** Local differential privacy of each update: clipped, with Gaussian noise: a mirror of `coterie_learning.privacy.local_noise`. */
import { sha256 } from "@noble/hashes/sha2.js";
import * as v from "valibot";
import { utf8 } from "../../wire/bytes";
import { byCodePoints, float32, type Tensor, type Tensors } from "../../wire/tensors";
import { kind, positive } from "../kinds";
import { numberOf, wholeNoise } from "../noise";
import type { Privacy } from ".";
import { clipFactor } from "./clipping";

/** Whole numbers in one standard deviation of the noise. */
const STEPS = 2 ** 20;

export const localNoise = kind(
  "privacy",
  "local_noise",
  { norm: v.optional(positive(1e3), 1), noise_multiplier: v.optional(positive(1e3), 1) },
  ({ norm, noise_multiplier }): Privacy => {
    const step = (noise_multiplier * 2 * norm) / STEPS;
    const noised = (name: string, { shape, data }: Tensor, key: bigint, factor: number): Tensor => {
      const noise = wholeNoise(STEPS, key, name, data.length);
      // Towards zero, so never longer.
      const numbers = noise.map((one, at) => (Math.trunc((data[at] as number) * (factor / step)) + one) * step);
      return float32(shape, Float32Array.from(numbers));
    };
    return {
      releases: "updates",
      noiseMultiplier: noise_multiplier,
      apart: null,
      masking: null,
      protect(update, secret) {
        const [key, factor] = [keyOf(update, secret), clipFactor(update, norm)];
        return new Map([...update].map(([name, tensor]) => [name, noised(name, tensor, key, factor)]));
      },
      sentence: "your device adds noise to what it learned before it leaves, which hides it from the platform, too",
    };
  },
);

/** The noise belongs to this update under this secret: that of another is unrelated. */
function keyOf(update: Tensors, secret: bigint): bigint {
  const digest = sha256.create().update(utf8(`${secret}`));
  for (const [name, { data }] of [...update].sort(([a], [b]) => byCodePoints(a, b))) {
    digest.update(utf8(`${name}\0`)).update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return numberOf(digest.digest());
}
