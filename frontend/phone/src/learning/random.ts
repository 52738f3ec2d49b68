/**
 * Random numbers that decide bits: a mirror of `coterie_learning.random`, bit for bit.
 *
 * A path's SHA-256 is the key of ChaCha20 (RFC 8439) with the nonce `LibsodiumDRG`. Nothing here is secret.
 */
import { chacha20 } from "@noble/ciphers/chacha.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8 } from "../wire/bytes";

type Path = readonly (string | number)[];
/** Beyond 2^53 a bigint, as of keys. */
type Seed = number | bigint;
const NONCE = utf8("LibsodiumDRG");

/** `count` bytes; a longer stream of the same path begins with them. */
export function randomBytes(count: number, seed: Seed, ...path: Path): Uint8Array {
  return streamOf(digest(seed, path), count);
}

/** The first `count` bytes of the key stream: libsodium's `randombytes_buf_deterministic`. */
export const streamOf = (key: Uint8Array, count: number): Uint8Array => chacha20(key, NONCE, new Uint8Array(count));

/** The numbers below `count` in random order: each draws 64 bits, and the lowest comes first; of equal ones the lower. */
export function permutation(count: number, seed: Seed, ...path: Path): number[] {
  const drawn = new DataView(randomBytes(8 * count, seed, ...path).slice().buffer);
  const [low, high] = [new Uint32Array(count), new Uint32Array(count)];
  for (let index = 0; index < count; index++) {
    low[index] = drawn.getUint32(8 * index, true);
    high[index] = drawn.getUint32(8 * index + 4, true);
  }
  const at = (numbers: Uint32Array, index: number): number => numbers[index] as number;
  return Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => at(high, a) - at(high, b) || at(low, a) - at(low, b) || a - b,
  );
}

/** A seed for one part of a larger whole: the first 53 bits of the path's hash. */
export function deriveSeed(seed: number, ...path: Path): number {
  const first = new DataView(digest(seed, path).slice().buffer);
  return first.getUint32(0) * 2 ** 21 + (first.getUint32(4) >>> 11);
}

/** The seed of optimisation step `step`: 52 bits, which graphs divide exactly. */
export const stepSeed = (seed: number, step: number): number => Math.floor(deriveSeed(seed, "step", step) / 2);

/** The order in which epoch `epoch` goes through the samples. */
export const epochOrder = (samples: number, seed: number, epoch: number): number[] =>
  permutation(samples, seed, "epoch", epoch);

/** The seed that part `part` of an update is encoded with; the first has the training's own. */
export const partSeed = (seed: number, part: number): number => (part === 0 ? seed : deriveSeed(seed, "part", part));

const digest = (seed: Seed, path: Path): Uint8Array => sha256(utf8([seed, ...path].join("/")));
