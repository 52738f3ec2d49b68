/**
 * A random subset of each tensor's parameters, told by one number: a mirror of `coterie_learning.subsets`.
 *
 * Of n parameters one is chosen in each of k stretches that are as long as one another but for one, and where the first
 * of them begins is drawn, too (systematic sampling by strata, Cochran 1977, Sampling Techniques, §5 and §8).
 */
import type { TensorSpec } from "../wire/bundle";
import { float32, countOf as numbersOf, type Tensor, type Tensors } from "../wire/tensors";
import { deriveSeed, randomBytes } from "./random";

/** Of the chosen in each flattened tensor, ascending. */
export type Positions = ReadonlyMap<string, readonly number[]>;

/** The number that tells the subset of a training with `seed`. */
export const drawOf = (seed: number): number => deriveSeed(seed, "subset");

/** How many of a tensor's parameters are chosen; at least one of any that has some. */
export const countOf = (share: number, parameters: number): number =>
  Math.min(parameters, Math.max(1, Math.floor(share * parameters)));

/** Which of each tensor's parameters the subset `draw` has. */
export const chosen = (specs: readonly Pick<TensorSpec, "name" | "shape">[], share: number, draw: number): Positions =>
  new Map(
    specs.map(({ name, shape }) => {
      const size = numbersOf(shape);
      return [name, positionsOf(size, countOf(share, size), draw, name)];
    }),
  );

/** What `specs` are once only the chosen are left, flat. */
export const chosenSpecs = (specs: readonly TensorSpec[], share: number): TensorSpec[] =>
  specs.map((spec) => ({ ...spec, shape: [countOf(share, numbersOf(spec.shape))] }));

/** The chosen parameters alone. */
export const pickChosen = (tensors: Tensors, positions: Positions): Tensors =>
  new Map(
    [...tensors].map(([name, { data }]): [string, Tensor] => {
      const places = positions.get(name) ?? [];
      return [
        name,
        float32(
          [places.length],
          Float32Array.from(places, (place) => data[place] as number),
        ),
      ];
    }),
  );

/** The inverse of `pickChosen`: the others are those of `rest`. */
export const placeChosen = (picked: Tensors, positions: Positions, rest: Tensors): Tensors =>
  new Map(
    [...picked].map(([name, { data }]): [string, Tensor] => {
      const { shape, data: others } = rest.get(name) as Tensor;
      const whole = others.slice();
      for (const [at, place] of (positions.get(name) ?? []).entries()) whole[place] = data[at] as number;
      return [name, float32(shape, whole)];
    }),
  );

function positionsOf(parameters: number, count: number, draw: number, name: string): number[] {
  if (count === parameters) return Array.from({ length: count }, (_, at) => at);
  const lots = new DataView(randomBytes(4 * (count + 1), draw, "chosen", name).slice().buffer);
  const lot = (at: number): number => lots.getUint32(4 * at, true);
  const begin = (stretch: number): number => Math.floor((stretch * parameters) / count);
  const first = upper(lot(0), parameters);
  const places = Array.from({ length: count }, (_, at) => {
    const inside = upper(lot(at + 1), begin(at + 1) - begin(at));
    return (begin(at) + inside + first) % parameters;
  });
  return places.sort((a, b) => a - b);
}

/** `number` · `lot` / 2^32, rounded down: the product may have more bits than float64 holds. */
function upper(lot: number, number: number): number {
  const [high, low] = [Math.floor(lot / 2 ** 16), lot % 2 ** 16];
  return Math.floor((high * number + Math.floor((low * number) / 2 ** 16)) / 2 ** 16);
}
