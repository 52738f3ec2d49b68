/** Masks: streams of numbers that two devices share, or that one has alone: a mirror of `coterie_learning.secure_sum.masks`. */
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { byBytes, joined, utf8 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import { numberOf } from "../noise";
import { streamOf } from "../random";

/** Numbers of one mask after the other. */
export type Words = Uint16Array | Uint32Array | BigUint64Array;

/** Numbers of a block, each of which has a seed of its own. */
const DRAWN = 1 << 16;
/** A box has a key of its own, which seals nothing else. */
const NONCE = new Uint8Array(12);
const FIELD = 2n ** 255n - 19n;
/** Coordinates of the points of order 1, 2, 4 and 8, on the curve and on its twist. */
const SMALL_ORDER = new Set([
  0n,
  1n,
  FIELD - 1n,
  0x00b8495f16056286fdb1329ceb8d09da6ac49ff1fae35616aeb8413b7c7aebe0n,
  0x57119fd0dd4e22d8868e1c58c45c44045bef839c55b1d0b1248c50a3bc959c5fn,
]);

export const publicKey = (secret: Uint8Array): Uint8Array => x25519.getPublicKey(secret);

/** Whether anybody can agree on a secret with the owner of X25519 key `known`. */
export function isKey(known: Uint8Array): boolean {
  const coordinate = numberOf(known.toReversed()) & (2n ** 255n - 1n);
  return !SMALL_ORDER.has(coordinate % FIELD);
}

/** What is published of the seed of a device's own mask. */
export const commitment = (seed: Uint8Array): Uint8Array => derived(seed, utf8("coterie own mask commitment"));

/**
 * The seed of the mask that the owners of `secret` and of the public key `other` share in one sum.
 * Throws CodedError `secure_sum.wrong_key` where `other` is no key.
 */
export function pairSeed(secret: Uint8Array, other: Uint8Array, digest: Uint8Array): Uint8Array {
  const keys = [publicKey(secret), other].sort(byBytes);
  return derived(agreed(secret, other), joined([utf8("coterie pair mask"), digest, ...keys]));
}

/** `numbers` plus or minus the mask `name`, in place, modulo their type. Different names have unrelated masks. */
export function addMask(numbers: Words, seed: Uint8Array, name: string, subtract = false): void {
  const width = numbers.BYTES_PER_ELEMENT;
  for (let start = 0; start < numbers.length; start += DRAWN) {
    const count = Math.min(DRAWN, numbers.length - start);
    const key = derived(seed, utf8(`${name}\n${start / DRAWN}`));
    const { buffer } = streamOf(key, count * width).slice();
    if (numbers instanceof BigUint64Array) {
      const mask = new BigUint64Array(buffer);
      for (const [at, one] of mask.entries()) {
        const number = numbers[start + at] as bigint;
        numbers[start + at] = subtract ? number - one : number + one;
      }
    } else {
      const mask = width === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
      for (let at = 0; at < count; at++) {
        const [number, one] = [numbers[start + at] as number, mask[at] as number];
        numbers[start + at] = subtract ? number - one : number + one;
      }
    }
  }
}

/**
 * A box that only the owner of the channel key `to` can open, in the sum of the list with `digest`: ChaCha20-Poly1305.
 * Throws CodedError `secure_sum.wrong_key`.
 */
export function seal(content: Uint8Array, secret: Uint8Array, to: Uint8Array, digest: Uint8Array): Uint8Array {
  const key = boxKey(secret, to, [digest, publicKey(secret), to]);
  return chacha20poly1305(key, NONCE, digest).encrypt(content);
}

/** What is in a box from the owner of channel key `sender`. Throws CodedError `secure_sum.wrong_box` or `secure_sum.wrong_key`. */
export function unseal(box: Uint8Array, secret: Uint8Array, sender: Uint8Array, digest: Uint8Array): Uint8Array {
  const key = boxKey(secret, sender, [digest, sender, publicKey(secret)]);
  try {
    return chacha20poly1305(key, NONCE, digest).decrypt(box);
  } catch {
    throw new CodedError("secure_sum.wrong_box", "a box of shares does not open");
  }
}

/** `where` are the list, the sender and the receiver, so that a key seals one box. */
const boxKey = (secret: Uint8Array, other: Uint8Array, where: readonly Uint8Array[]): Uint8Array =>
  derived(agreed(secret, other), joined([utf8("coterie box of shares"), ...where]));

function agreed(secret: Uint8Array, other: Uint8Array): Uint8Array {
  try {
    return x25519.getSharedSecret(secret, other);
  } catch {
    throw new CodedError("secure_sum.wrong_key", "a public key is of no use"); // a point of small order
  }
}

const derived = (key: Uint8Array, what: Uint8Array): Uint8Array => blake2b(what, { key, dkLen: 32 });
