/**
 * The directions in which the models of devices differ most, as the platform keeps them and devices use them: a mirror of
 * `coterie_learning.local._directions`. Vectors are of float64, whose sums NumPy adds in another order: last bits differ,
 * and are rounded away in float32.
 */
import type { Tensors } from "../../wire/tensors";
import { flat } from "../flat";
import { randomBytes } from "../random";
import type { Broadcast } from "./interface";

/** What the platform sends, and parts of updates. With three, four sorts of devices are told apart. */
export const DIRECTIONS = ["direction_0", "direction_1", "direction_2"] as const;

/**
 * Orthonormal directions in which devices' models differ most, the first the most: those that the platform sent, made
 * orthonormal by Gram and Schmidt in their order. One that is nothing is drawn: the same on all devices.
 */
export function directions({ received, server }: Broadcast): Float64Array[] {
  const size = flat(received).length;
  const found: Float64Array[] = [];
  for (const [number, name] of DIRECTIONS.entries()) {
    const sent = server.get(name);
    const vector =
      (sent === undefined ? null : apartFrom(found, vectorOf(sent))) ?? apartFrom(found, drawn(size, number));
    found.push(vector ?? new Float64Array(size)); // models of fewer numbers have fewer directions
  }
  return found;
}

/** The numbers of the tensors, in the order of their names. */
export const vectorOf = (tensors: Tensors): Float64Array => Float64Array.from(flat(tensors));

export const dot = (one: Float64Array, other: Float64Array): number =>
  one.reduce((sum, number, at) => sum + number * (other[at] as number), 0);

/** Numbers that are as often positive as negative. */
const drawn = (size: number, number: number): Float64Array =>
  Float64Array.from(randomBytes(size, number, "direction"), (byte) => byte - 127.5);

/** The unit vector of what of `vector` is orthogonal to `others`; null where that is nothing but rounding. */
function apartFrom(others: readonly Float64Array[], vector: Float64Array): Float64Array | null {
  const length = (of: Float64Array): number => Math.sqrt(dot(of, of));
  const before = length(vector);
  let left = vector;
  // Twice is enough: what rounding leaves of the first time.
  for (const other of [...others, ...others]) {
    const along = dot(other, left);
    left = left.map((number, at) => number - (other[at] as number) * along);
  }
  const after = length(left);
  return after > 1e-6 * before ? left.map((number) => number / after) : null;
}
