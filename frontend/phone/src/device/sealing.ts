/**
 * Seals of rows: flash memory loses bits, and a browser does not look. Each row is kept with a hash of itself and of its
 * place, as `coterie_agent.store.sealing` has it, and a row whose seal does not fit is not used.
 *
 * The hash is MurmurHash3's of 32 bits (A. Appleby, 2011), twice with other constants: nobody forges rows here, and it
 * takes less than a tenth of the time of SHA-256 in JavaScript, which every batch would wait for.
 */
import { sameBytes, utf8 } from "../wire/bytes";

export type Sealed<T extends object> = T & { readonly seal: Uint8Array };

/** The row to be kept at `place`. */
export function sealed<T extends object>(place: string, row: T): Sealed<T> {
  return { ...row, seal: sealOf(place, row) };
}

/** The row as it was written at `place`; null: it is another. */
export function opened<T extends object>(place: string, kept: Sealed<T>): T | null {
  const { seal, ...row } = kept;
  const isSound = seal instanceof Uint8Array && sameBytes(seal, sealOf(place, row));
  return isSound ? (row as unknown as T) : null;
}

/** Of texts and numbers as JSON, in which arrays of bytes and of numbers stand by kind and length, and of those arrays. */
function sealOf(place: string, row: object): Uint8Array {
  const arrays: Uint8Array[] = [];
  const text = JSON.stringify(row, (_, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (!ArrayBuffer.isView(value)) return value;
    arrays.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    return [value.constructor.name, value.byteLength];
  });
  return hashOf([utf8(`${place} ${text}`), ...arrays]);
}

/** 64 bits of the bytes, whose lengths are known: parts are filled up with zeros. */
function hashOf(parts: readonly Uint8Array[]): Uint8Array {
  let [one, other] = [0, 0];
  for (const part of parts) {
    const words = wordsOf(part);
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as number;
      one = (Math.imul(rotated(one ^ scrambled(word, 0xcc9e2d51, 15, 0x1b873593), 13), 5) + 0xe6546b64) | 0;
      other = (Math.imul(rotated(other ^ scrambled(word, 0x239b961b, 16, 0xab0e9789), 17), 5) + 0x561ccd1b) | 0;
    }
  }
  return new Uint8Array(Uint32Array.of(finished(one), finished(other)).buffer);
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, length } = bytes;
  if (byteOffset % 4 === 0 && length % 4 === 0) return new Uint32Array(buffer, byteOffset, length / 4);
  const filled = new Uint8Array(4 * Math.ceil(length / 4));
  filled.set(bytes);
  return new Uint32Array(filled.buffer);
}

const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

const scrambled = (word: number, first: number, bits: number, second: number): number =>
  Math.imul(rotated(Math.imul(word, first), bits), second);

function finished(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
