/** Ways in which a chunk of codes is packed into bytes that zlib makes smaller: a mirror of `coterie_learning.packings`. */
import { deflateRaw, Inflate } from "pako";
import { CodedError } from "../wire/errors";

/** Signs in a byte, as digits of base 3. */
const DIGITS = 5;
/** Of zlib, so that the agent's bytes come out: its level, its memory, and that it looks for runs alone (`Z_RLE`). */
const DEFLATE = { level: 6, memLevel: 9, strategy: 3, windowBits: 15 } as const;

export interface Packing {
  /** Of a chunk. */
  readonly streams: number;
  /** The deflated streams of one chunk of codes. */
  pack(codes: Int8Array): Uint8Array[];
}

/** Of which so many codes can be read back. Throws CodedError `update.malformed`. */
export interface ReadablePacking extends Packing {
  unpack(streams: readonly Uint8Array[], count: number): Int8Array;
}

/** For codes that are mostly zero: the signs, five to a byte, and the magnitudes of those that are not zero. */
export const SIGNS_AND_MAGNITUDES: Packing = {
  streams: 2,
  pack(codes) {
    const signs = new Uint8Array(Math.ceil(codes.length / DIGITS));
    for (let byte = 0; byte < signs.length; byte++) {
      let packed = 0;
      for (let at = byte * DIGITS; at < (byte + 1) * DIGITS; at++) packed = 3 * packed + Math.sign(codes[at] ?? 0) + 1;
      signs[byte] = packed;
    }
    const magnitudes = Uint8Array.from(
      codes.filter((code) => code !== 0),
      (code) => Math.abs(code) - 1,
    );
    return [deflated(signs), deflated(magnitudes)];
  },
};

/** For codes in [-7, 7]: two in a byte as two's complement, the earlier in the lower half. */
export const PAIRS: ReadablePacking = {
  streams: 1,
  pack(codes) {
    const half = (at: number): number => (codes[at] ?? 0) & 0x0f;
    const pairs = Uint8Array.from(
      { length: Math.ceil(codes.length / 2) },
      (_, at) => half(2 * at) | (half(2 * at + 1) << 4),
    );
    return [deflated(pairs)];
  },
  unpack([stream], count) {
    const pairs = inflated(stream ?? new Uint8Array(), Math.ceil(count / 2));
    // The sign is the highest of four bits: each half is moved up to where it is that of a word, and down again.
    const codes = Int8Array.from({ length: 2 * pairs.length }, (_, at) => {
      const pair = pairs[at >> 1] as number;
      return (at % 2 === 0 ? pair << 28 : (pair >> 4) << 28) >> 28;
    });
    if (codes.subarray(count).some((code) => code !== 0)) throw malformed("a code follows after the last parameter");
    return codes.subarray(0, count);
  },
};

export const malformed = (detail: string): CodedError =>
  new CodedError("update.malformed", `deflated codes: ${detail}`);

const deflated = (data: Uint8Array): Uint8Array => deflateRaw(data, DEFLATE);

/**
 * Exactly `count` bytes, whatever has deflated them; no more are kept. What follows the stream's end is passed over, which
 * the agent refuses. Throws CodedError `update.malformed`.
 */
function inflated(stream: Uint8Array, count: number): Uint8Array {
  const found = new Uint8Array(count);
  let end = 0;
  const inflate = new Inflate({ raw: true, windowBits: 15 });
  inflate.onData = (chunk) => {
    if (end + chunk.length > count) throw malformed(`a stream holds more than ${count} bytes`);
    found.set(chunk as Uint8Array, end);
    end += chunk.length;
  };
  inflate.push(stream, true);
  if (inflate.err !== 0 || !inflate.ended || end !== count) {
    throw malformed(`a stream does not hold ${count} bytes and nothing else`);
  }
  return found;
}
