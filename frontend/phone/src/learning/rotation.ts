/** Randomised Hadamard transforms: a mirror of `coterie_learning.rotation`, bit for bit. */
import { randomBytes } from "./random";

/** Numbers that are rotated together at most. */
export const LARGEST_BLOCK = 1 << 13;

/** A part of a vector whose length is a power of two. */
export interface BlockSpan {
  readonly start: number;
  readonly stop: number;
}

/** Divides a vector of `count` numbers into blocks of powers of two, the largest first, so that none is padded. */
export function powerBlocks(count: number): BlockSpan[] {
  const blocks: BlockSpan[] = [];
  for (let start = 0; start < count; ) {
    const stop = start + Math.min(LARGEST_BLOCK, 2 ** (31 - Math.clz32(count - start)));
    blocks.push({ start, stop });
    start = stop;
  }
  return blocks;
}

/** 1 or -1, `count` of them: the bits of the path ``SEED/rotation/BLOCK``, the lowest of each byte first. */
export function randomSigns(count: number, seed: number, block: number): Float32Array {
  const drawn = randomBytes((count + 7) >> 3, seed, "rotation", block);
  return Float32Array.from({ length: count }, (_, at) => 1 - 2 * (((drawn[at >> 3] as number) >> (at & 7)) & 1));
}

/**
 * `vector` [power of two], in place, times the Walsh-Hadamard matrix, not normalised. Butterflies are those of the upper
 * half of the places' bits first, as of a table's columns before its rows: sums of two float32 are rounded in that order.
 */
export function hadamard(vector: Float32Array): Float32Array {
  const bits = 31 - Math.clz32(vector.length);
  const low = bits >> 1;
  for (let bit = low; bit < bits; bit++) butterflies(vector, 1 << bit);
  for (let bit = 0; bit < low; bit++) butterflies(vector, 1 << bit);
  return vector;
}

function butterflies(vector: Float32Array, step: number): void {
  for (let start = 0; start < vector.length; start += 2 * step) {
    for (let at = start; at < start + step; at++) {
      const [a, b] = [vector[at] as number, vector[at + step] as number];
      vector[at] = a + b;
      vector[at + step] = a - b;
    }
  }
}
