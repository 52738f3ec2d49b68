/**
 * Gaussian noise from a secret key: a mirror of `coterie_learning.noise`, by the same transformation of the same stream.
 *
 * The platform's logarithm and a browser's may differ in their last bit, so that of whole numbers about one in 10^9 may.
 */
import { randomBytes } from "./random";

/** Numbers that are drawn at once: a span of a tensor gets the same noise, wherever it begins. */
const DRAWN = 1 << 12;

/** The first `count` elements of the noise of tensor `name`, rounded; the `key` is a secret number of 256 bits. */
export function wholeNoise(deviation: number, key: bigint, name: string, count: number): Float64Array {
  const noise = new Float64Array(count);
  for (let start = 0; start < count; start += DRAWN) {
    const drawn = normals(key, name, start / DRAWN).subarray(0, count - start);
    noise.set(
      drawn.map((one) => rint(one * deviation)),
      start,
    );
  }
  return noise;
}

/** The nearest whole number; of two the even one, as NumPy rounds. */
export function rint(number: number): number {
  const below = Math.floor(number);
  const rest = number - below;
  const isUp = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  return isUp ? below + 1 : below + 0; // no -0
}

/** The number that `bytes` stand for, the highest first. */
export const numberOf = (bytes: Uint8Array): bigint =>
  bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);

/** A key that nobody else can guess. */
export const drawnKey = (): bigint => numberOf(crypto.getRandomValues(new Uint8Array(32)));

/** Independent standard normal numbers: the draw number `place` of tensor `name`. */
function normals(key: bigint, name: string, place: number): Float64Array {
  const bytes = randomBytes(8 * DRAWN, key, "noise", name, place);
  const stream = new DataView(bytes.buffer, bytes.byteOffset);
  const uniform = (at: number): number =>
    (stream.getUint32(8 * at + 4, true) * 2 ** 21 + (stream.getUint32(8 * at, true) >>> 11) + 1) * 2 ** -53;
  const found = new Float64Array(DRAWN);
  for (let pair = 0; pair < DRAWN / 2; pair++) {
    const [radius, turn] = [Math.sqrt(-2 * Math.log(uniform(2 * pair))), 2 * Math.PI * uniform(2 * pair + 1)];
    found[pair] = radius * Math.cos(turn);
    found[DRAWN / 2 + pair] = radius * Math.sin(turn);
  }
  return found;
}
