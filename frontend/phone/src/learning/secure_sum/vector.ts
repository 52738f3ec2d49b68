/** Vectors of whole numbers modulo powers of two: a mirror of `coterie_learning.secure_sum.vector`. */
import { bytesToHex } from "@noble/hashes/utils.js";
import { encodeTensors } from "../../wire/tensors";
import { addMask } from "./masks";

const [NUMBERS, TAIL] = ["numbers", "tail"];

export interface Vector {
  readonly bits: number;
  /** An even number of them, of which the low `bits` count. */
  readonly numbers: Uint16Array | Uint32Array;
  readonly tail: BigUint64Array;
}

/** Zeros in the type that numbers of so many bits are added in. */
export const words = (bits: number, length: number): Uint16Array | Uint32Array =>
  bits <= 16 ? new Uint16Array(length) : new Uint32Array(length);

/** `vector` plus the masks of the seeds `added`, minus those of the seeds `subtracted`. */
export function masked(vector: Vector, added: readonly Uint8Array[], subtracted: readonly Uint8Array[]): Vector {
  const found = { bits: vector.bits, numbers: vector.numbers.slice(), tail: vector.tail.slice() };
  for (const [name, numbers] of [
    [NUMBERS, found.numbers],
    [TAIL, found.tail],
  ] as const) {
    for (const seed of added) addMask(numbers, seed, name as string);
    for (const seed of subtracted) addMask(numbers, seed, name as string, true);
  }
  return found;
}

/** The file of a vector that was masked for the list of members with `digest`. */
export function encodeVector({ bits, numbers, tail }: Vector, digest: Uint8Array): Uint8Array<ArrayBuffer> {
  const tensors = [
    [NUMBERS, pack(numbers, bits)],
    [TAIL, new Uint8Array(tail.buffer, tail.byteOffset, tail.byteLength)],
  ] as const;
  const metadata = new Map([
    ["bits", `${bits}`],
    ["list", bytesToHex(digest)],
  ]);
  const stored = tensors.map(([name, data]) => [name, { dtype: "uint8", shape: [data.length], data }] as const);
  return encodeTensors(new Map(stored as [string, (typeof stored)[0][1]][]), metadata);
}

/** The low `bits` of each, two after the other in `bits` / 4 bytes, the lowest first. */
export function pack(numbers: Uint16Array | Uint32Array, bits: number): Uint8Array {
  const low = 2 ** bits;
  const packed = new Uint8Array((numbers.length / 2) * (bits / 4));
  let end = 0;
  for (let pair = 0; pair < numbers.length; pair += 2) {
    let rest = (numbers[pair] as number) % low;
    let held = bits;
    for (let byte = 0; byte < bits / 4; byte++) {
      if (held < 8) {
        rest += ((numbers[pair + 1] as number) % low) * 2 ** held;
        held += bits;
      }
      packed[end++] = rest % 256;
      rest = Math.floor(rest / 256);
      held -= 8;
    }
  }
  return packed;
}
