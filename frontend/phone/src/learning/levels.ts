/** Integers times scales: a mirror of `coterie_learning.levels`, bit for bit. Rounding as in QSGD (arXiv 1610.02132). */
import type { TensorSpec } from "../wire/bundle";
import { byCodePoints, checkFinite, countOf, float32, type Tensor, type Tensors } from "../wire/tensors";
import { rint } from "./noise";
import { randomBytes } from "./random";

export type Granularity = "tensor" | "channel";

export interface Rounded {
  readonly codes: Int8Array;
  readonly scales: Float32Array;
  /** The rounding error, in the tensor's shape. */
  readonly residual: Float32Array;
}

/** The largest level that an int8 holds of either sign. */
export const MOST = 127;
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
  const largest = largestScale(levels);
  const drawn = new DataView(randomBytes(2 * data.length, seed, "dither", name).slice().buffer);
  const [codes, residual] = [new Int8Array(data.length), new Float32Array(data.length)];
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * width, (row + 1) * width];
    const scale = Math.min(fewBits(largestMagnitude(data.subarray(start, end)) / levels), largest);
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

/** `data` with codes in [-127, 127] of the step `scale`; zero is exact, and halves go to the even code. */
export function roundToNearest(data: Float32Array, scale: number): Rounded {
  const step = Math.min(Math.fround(scale), largestScale(MOST));
  const divisor = step > 0 ? step : 1;
  const codes = Int8Array.from(data, (number) => Math.min(Math.max(rint(Math.fround(number / divisor)), -MOST), MOST));
  const residual = data.map((number, at) => number - Math.fround((codes[at] as number) * step));
  return { codes, scales: Float32Array.of(step), residual };
}

/** Above it a code could stand for a number that is not finite. */
export const largestScale = (levels: number): number => Math.fround(LARGEST_FLOAT / (levels + 1));

export const largestMagnitude = (data: Float32Array): number =>
  data.reduce((most, number) => Math.max(most, Math.abs(number)), 0);

/** Squares are added one after the other, in float64. */
export const rootMeanSquare = (data: Float32Array): number =>
  data.length === 0 ? 0 : Math.sqrt(data.reduce((sum, number) => sum + number * number, 0) / data.length);

/** Numbers from codes and scales. */
export function multiplied(codes: Int8Array, scales: Float32Array): Float32Array {
  const width = codes.length / scales.length;
  return Float32Array.from(codes, (code, at) => code * (scales[Math.floor(at / width)] as number));
}

/** Each tensor of `update` as its codes and scales in `rounded` stand for it. */
export const approximated = (update: Tensors, rounded: ReadonlyMap<string, Rounded>): Tensors =>
  new Map(
    [...update].map(([name, { shape }]): [string, Tensor] => {
      const { codes, scales } = rounded.get(name) as Rounded;
      return [name, float32(shape, multiplied(codes, scales))];
    }),
  );

/** All scales in one tensor, in the order of the names. */
export function joinedScales(scales: ReadonlyMap<string, Float32Array>): Float32Array {
  return Float32Array.from([...scales].sort(([a], [b]) => byCodePoints(a, b)).flatMap(([, one]) => [...one]));
}

/** The tensor of all scales in the payload of tensors of the specs `expected`. */
export function scalesOf(expected: readonly TensorSpec[], granularity: Granularity): TensorSpec {
  const count = expected.reduce((sum, { shape }) => sum + scaleCount(shape, granularity), 0);
  return { name: "scale", dtype: "float32", shape: [count] };
}

/**
 * The tensors of the specs `expected` from their codes and from all scales, in the order of the names.
 * Throws CodedError `update.not_finite`.
 */
export function restored(
  codes: ReadonlyMap<string, Int8Array>,
  scales: Float32Array,
  expected: readonly TensorSpec[],
  granularity: Granularity,
): Tensors {
  const update = new Map<string, Tensor>(expected.map(({ name, shape }) => [name, float32(shape)]));
  let end = 0;
  for (const { name, shape } of [...expected].sort((a, b) => byCodePoints(a.name, b.name))) {
    const start = end;
    end += scaleCount(shape, granularity);
    update.set(name, float32(shape, multiplied(codes.get(name) as Int8Array, scales.subarray(start, end))));
  }
  checkFinite(update, "update.not_finite");
  return update;
}
