/** Integers times scales: a mirror of `coterie_learning.levels`, bit for bit. Rounding as in QSGD (arXiv 1610.02132). */
import { byCodePoints, countOf, type Tensor } from "../wire/tensors";
import { randomBytes } from "./random";

export type Granularity = "tensor" | "channel";

export interface Rounded {
  readonly codes: Int8Array;
  readonly scales: Float32Array;
  /** The rounding error, in the tensor's shape. */
  readonly residual: Float32Array;
}

/** Parameters that an output channel must have for a scale of its own. */
const SMALLEST_CHANNEL = 128;
const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

/** Bits of a float32 that a scale does not use. */
const UNUSED_BITS = 20;

/** `scale`, not negative, rounded up to four significant bits: so ordered are float32 and the integers of their bits. */
function fewBits(scale: number): number {
  const bits = new Uint32Array(Float32Array.of(scale).buffer);
  const mask = 2 ** UNUSED_BITS - 1;
  bits[0] = (((bits[0] as number) + mask) & ~mask) >>> 0;
  return new Float32Array(bits.buffer)[0] as number;
}

/** Scales of a tensor. */
export function scaleCount(shape: readonly number[], granularity: Granularity): number {
  const [channels] = shape;
  if (granularity === "tensor" || channels === undefined || channels === 0) return 1;
  return countOf(shape) >= channels * SMALLEST_CHANNEL ? channels : 1;
}

/** `tensor` with codes in [-levels, levels]; zero is exact, and the mean over seeds is the tensor. */
export function roundTensor(
  tensor: Tensor,
  levels: number,
  granularity: Granularity,
  seed: number,
  name: string,
): Rounded {
  const { data, shape } = tensor;
  const rows = scaleCount(shape, granularity);
  const width = data.length / rows;
  const largest = Math.fround(LARGEST_FLOAT / (levels + 1));
  const drawn = new DataView(randomBytes(2 * data.length, seed, "dither", name).slice().buffer);
  const [codes, residual] = [new Int8Array(data.length), new Float32Array(data.length)];
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * width, (row + 1) * width];
    let greatest = 0;
    for (let at = start; at < end; at++) greatest = Math.max(greatest, Math.abs(data[at] as number));
    const scale = Math.min(fewBits(greatest / levels), largest);
    scales[row] = scale;
    const divisor = scale > 0 ? scale : 1;
    for (let at = start; at < end; at++) {
      const number = data[at] as number;
      const dither = (drawn.getUint16(2 * at, true) + 0.5) * 2 ** -16;
      const level = Math.floor(Math.fround(dither + Math.fround(number / divisor)));
      const code = Math.min(Math.max(level, -levels), levels);
      codes[at] = code;
      residual[at] = number - Math.fround(code * scale);
    }
  }
  return { codes, scales, residual };
}

/** Numbers from codes and scales. */
export function multiplied(codes: Int8Array, scales: Float32Array): Float32Array {
  const width = codes.length / scales.length;
  return Float32Array.from(codes, (code, at) => code * (scales[Math.floor(at / width)] as number));
}

/** All scales in one tensor, in the order of the names. */
export function joinedScales(scales: ReadonlyMap<string, Float32Array>): Float32Array {
  return Float32Array.from([...scales].sort(([a], [b]) => byCodePoints(a, b)).flatMap(([, one]) => [...one]));
}

/** The scales of each tensor of `specs`, which have so many, from all in the order of the names. */
export function dividedScales(
  all: Float32Array,
  specs: readonly { readonly name: string }[],
  counts: readonly number[],
): Map<string, Float32Array> {
  const order = specs.map(({ name }, at) => ({ name, count: counts[at] as number }));
  order.sort((a, b) => byCodePoints(a.name, b.name));
  const divided = new Map<string, Float32Array>();
  let end = 0;
  for (const { name, count } of order) {
    divided.set(name, all.subarray(end, end + count));
    end += count;
  }
  return divided;
}
