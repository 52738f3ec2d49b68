/** The length of an update, and what scales it down to a norm: `coterie_learning.privacy._clipping`. */
import { float32, type Tensors } from "../../wire/tensors";

/** By what all numbers of `update` are multiplied so that their L2 norm is at most `norm`; 1 if it is. */
export function clipFactor(update: Tensors, norm: number): number {
  let sum = 0;
  for (const { data } of update.values()) {
    let squares = 0;
    for (const number of data) squares += number * number;
    sum += squares;
  }
  const length = Math.sqrt(sum);
  return length <= norm ? 1 : norm / length;
}

/** `update`, scaled down as a whole where it is longer than `norm`. */
export function clipped(update: Tensors, norm: number): Tensors {
  const found = clipFactor(update, norm);
  if (found === 1) return update;
  const factor = Math.fround(found);
  return new Map(
    [...update].map(([name, { shape, data }]) => [
      name,
      float32(
        shape,
        data.map((one) => one * factor),
      ),
    ]),
  );
}
