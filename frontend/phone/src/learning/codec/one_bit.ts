/**
 * One bit a parameter: the signs of the update after a random rotation, and one scale for each block (DRIVE, Vargaftik et
 * al. 2021, arXiv 2105.08339, §4 and §6): a mirror of `coterie_learning.codec.one_bit`.
 */
import * as v from "valibot";
import { type AnyTensor, checkFinite, encodeTensors, float32 } from "../../wire/tensors";
import { flat, layoutName, unflat } from "../flat";
import { kind } from "../kinds";
import { largestMagnitude } from "../levels";
import { hadamard, powerBlocks, randomSigns } from "../rotation";
import type { Codec } from ".";
import { metadataOf } from "./metadata";

/** What a payload can stand for, at most. */
const LARGEST_NUMBER = 2 ** 100;

export const oneBitCodec = kind(
  "codec",
  "one_bit",
  { feedback: v.optional(v.boolean(), false) },
  ({ feedback }): Codec => ({
    feedsBack: feedback,
    encode(update, seed) {
      checkFinite(update, "update.not_finite");
      const numbers = flat(update);
      const blocks = powerBlocks(numbers.length);
      const packed = new Uint8Array(Math.ceil(numbers.length / 8));
      const scales = new Float32Array(blocks.length);
      const [rest, said] = [new Float32Array(numbers.length), new Float32Array(numbers.length)];
      for (const [index, { start, stop }] of blocks.entries()) {
        const block = numbers.subarray(start, stop);
        const signs = randomSigns(block.length, seed, index);
        const { scale, negative } = rounded(block, signs, feedback);
        scales[index] = scale;
        for (const [at, bit] of negative.entries()) {
          packed[(start + at) >> 3] = (packed[(start + at) >> 3] as number) | (bit << ((start + at) & 7));
        }
        const back = rotatedBack(negative, signs, scale);
        said.set(back, start);
        rest.set(
          block.map((number, at) => number - (back[at] as number)),
          start,
        );
      }
      const stored = new Map<string, AnyTensor>([
        [layoutName("signs", update), { dtype: "uint8", shape: [packed.length], data: packed }],
        ["scale", float32([scales.length], scales)],
        ["seed", { dtype: "int64", shape: [1], data: BigInt64Array.of(BigInt(seed)) }],
      ]);
      return {
        payload: encodeTensors(stored, metadataOf({ kind: "one_bit", feedback })),
        residual: unflat(rest, update),
        sent: () => unflat(said, update),
      };
    },
  }),
);

/** The scale of a block (DRIVE, Theorem 3 and Lemma 2), and 1 where its number is negative once it is rotated. */
function rounded(block: Float32Array, signs: Float32Array, feedback: boolean): { scale: number; negative: Uint8Array } {
  const size = block.length;
  const largest = largestMagnitude(block);
  if (largest === 0) return { scale: 0, negative: new Uint8Array(size) };
  const exponent = exponentOf(largest); // with magnitudes of at most 1 no sum overflows
  const small = Float64Array.from(block, (number) => number * 2 ** -exponent);
  const rotated = hadamard(Float32Array.from(small, (number, at) => Math.fround(number) * (signs[at] as number)));
  const length = rotated.reduce((sum, number) => sum + Math.abs(number), 0) / Math.sqrt(size);
  const squares = small.reduce((sum, number) => sum + number * number, 0);
  const scale = feedback ? length / size : squares / length;
  return {
    scale: Math.fround(Math.min(scale * 2 ** exponent, LARGEST_NUMBER / Math.sqrt(size))),
    negative: Uint8Array.from(rotated, (number) => Number(number < 0)),
  };
}

/** The block that such signs and such a scale stand for. */
function rotatedBack(negative: Uint8Array, signs: Float32Array, scale: number): Float32Array {
  const factor = Math.fround(scale / Math.sqrt(negative.length));
  const sums = hadamard(Float32Array.from(negative, (bit) => 1 - 2 * bit));
  return sums.map((sum, at) => sum * (signs[at] as number) * factor);
}

/** The least power of two, by its exponent, that `number` is below. */
function exponentOf(number: number): number {
  let exponent = Math.floor(Math.log2(number)) + 1;
  while (2 ** exponent <= number) exponent += 1;
  while (2 ** (exponent - 1) > number) exponent -= 1;
  return exponent;
}
