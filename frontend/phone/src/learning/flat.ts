/** An update as one vector, the numbers of its tensors in the order of their names: a mirror of `coterie_learning.flat`. */
import { sha256Hex, utf8 } from "../wire/bytes";
import { byCodePoints, countOf, float32, type Tensor, type Tensors } from "../wire/tensors";

type Shaped = ReadonlyMap<string, { readonly shape: readonly number[] }>;

/** Where a tensor's numbers are in the vector. */
export interface Span {
  readonly name: string;
  readonly start: number;
  readonly stop: number;
}

export function flat(tensors: Tensors): Float32Array {
  const spans = spansOf(tensors);
  const vector = new Float32Array(spans.at(-1)?.stop ?? 0);
  for (const { name, start } of spans) vector.set(tensors.get(name)?.data ?? [], start);
  return vector;
}

/** The numbers of `vector` as tensors of the names and shapes of `tensors`. */
export const unflat = (vector: Float32Array, tensors: Shaped): Tensors =>
  new Map(
    spansOf(tensors).map(({ name, start, stop }): [string, Tensor] => [
      name,
      float32(tensors.get(name)?.shape ?? [], vector.slice(start, stop)),
    ]),
  );

/** The tensors' places, in the order in which the vector has them. */
export function spansOf(tensors: Shaped): Span[] {
  let stop = 0;
  return inOrder(tensors).map(([name, { shape }]) => {
    const start = stop;
    stop += countOf(shape);
    return { name, start, stop };
  });
}

export const inOrder = <T>(tensors: ReadonlyMap<string, T>): [string, T][] =>
  [...tensors].sort(([a], [b]) => byCodePoints(a, b));

/**
 * The name of a tensor that holds `what` of the vector, with a digest of the names and shapes, so that what was written
 * for some tensors is never read as that of others.
 */
export function layoutName(what: string, tensors: Shaped): string {
  const layout = inOrder(tensors).map(([name, { shape }]) => [name, shape]);
  return `${what}.${sha256Hex(utf8(JSON.stringify(layout))).slice(0, 8)}`;
}
