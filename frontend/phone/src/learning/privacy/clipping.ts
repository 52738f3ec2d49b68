/** What scales an update down to a norm: `coterie_learning.privacy._clipping`. */
import { float32, type Tensors } from "../../wire/tensors";

/** `update`, scaled down as a whole where its L2 norm, over all its tensors, is longer than `norm`. */
export function clipped(update: Tensors, norm: number): Tensors {
  let sum = 0;
  for (const { data } of update.values()) {
    let squares = 0;
    for (const number of data) squares += number * number;
    sum += squares;
  }
  const length = Math.sqrt(sum);
  if (length <= norm) return update;
  const factor = Math.fround(norm / length);
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
