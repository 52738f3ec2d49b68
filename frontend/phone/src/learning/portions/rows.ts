/** The output rows of some classes of a classifier: a mirror of `coterie_learning.portions.rows` (Cartel's portion of a linear model). */
import type { ModelSpec, TensorSpec } from "../../wire/bundle";
import { CodedError } from "../../wire/errors";
import { float32, type Tensor, type Tensors } from "../../wire/tensors";
import { float32Norms, float32Sum } from "./float32_sums";

export const ROWS = "rows";
export const BIASES = "biases";

export interface Head {
  readonly weight: string;
  readonly bias: string | null;
}

/** Which parameters belong to single classes. Throws CodedError `portion.unsupported` where that cannot be told. */
export function headOf({ head }: ModelSpec): Head {
  if (head === null) throw unsupported("the model does not end in a linear layer with a row for each class");
  return head;
}

export const unsupported = (detail: string): CodedError => new CodedError("portion.unsupported", detail);

/** What `partitionRows` gives. Throws CodedError `portion.unsupported`. */
export function rowSpecs(model: ModelSpec, classes: readonly number[]): TensorSpec[] {
  const head = headOf(model);
  const shape = model.parameters.find(({ name }) => name === head.weight)?.shape ?? [];
  const rows: TensorSpec = { name: ROWS, dtype: "float32", shape: [classes.length, ...shape.slice(1)] };
  return head.bias === null ? [rows] : [rows, { name: BIASES, dtype: "float32", shape: [classes.length] }];
}

/** The helper's rows and biases of `classes`, in their order. Throws CodedError `portion.unsupported`. */
export function partitionRows(parameters: Tensors, model: ModelSpec, classes: readonly number[]): Tensors {
  const head = headOf(model);
  return new Map([
    [ROWS, picked(tensorIn(parameters, head.weight), classes)],
    ...(head.bias === null ? [] : [[BIASES, picked(tensorIn(parameters, head.bias), classes)] as const]),
  ]);
}

/**
 * The target's parameters with the rows of `classes` from `portion`, as long as its own of the `known` classes are on
 * average: those of `classes` do not count, and without any the rows keep their length. Rows and biases are rescaled
 * alike, so that where they cut the space does not move.
 */
export function mergeRows(
  parameters: Tensors,
  model: ModelSpec,
  portion: Tensors,
  classes: readonly number[],
  known: readonly number[],
): Tensors {
  const head = headOf(model);
  const [weight, rows] = [tensorIn(parameters, head.weight), tensorIn(portion, ROWS)];
  const scale = scaleTo(rows, picked(weight, without(known, classes)));
  const merged = new Map([...parameters, [head.weight, placed(weight, classes, scaled(rows, scale))]]);
  if (head.bias !== null) merged.set(head.bias, mergedBias(parameters, head.bias, portion, classes, scale));
  return merged;
}

/** The biases of the output layer with those of `classes` from `portion`, times `scale`. */
export const mergedBias = (
  parameters: Tensors,
  bias: string,
  portion: Tensors,
  classes: readonly number[],
  scale: number,
): Tensor => placed(tensorIn(parameters, bias), classes, scaled(tensorIn(portion, BIASES), scale));

/** What makes rows `received` as long on average as rows `own`, a float32; 1 where either has no length. */
export function scaleTo(received: Tensor, own: Tensor): number {
  const [from, to] = [received, own].map(({ data, shape }) => {
    const [rows] = shape as [number];
    return rows === 0 ? 0 : Math.fround(float32Sum(float32Norms(data, rows)) / rows);
  }) as [number, number];
  return Math.min(from, to) > 0 ? Math.fround(to / from) : 1;
}

/** Of `known` those that are none of `classes`, each once, ascending. */
export const without = (known: readonly number[], classes: readonly number[]): number[] =>
  [...new Set(known)].filter((label) => !classes.includes(label)).sort((a, b) => a - b);

/** Throws CodedError `portion.unknown_class` unless `classes` are some of the model's `count`, each once, ascending. */
export function checkClasses(classes: readonly number[], count: number): void {
  const isSound = classes.every((label, at) => label >= 0 && label < count && label > (classes[at - 1] ?? -1));
  if (classes.length > 0 && isSound) return;
  const detail = `classes [${classes.slice(0, 20)}] are not some of the model's ${count}, each once and in order`;
  throw new CodedError("portion.unknown_class", detail);
}

/** The tensor's rows `places`, in their order. */
export function picked({ data, shape }: Tensor, places: readonly number[]): Tensor {
  const [width, [, ...rest]] = [widthOf(shape), shape];
  const rows = new Float32Array(places.length * width);
  for (const [at, place] of places.entries()) rows.set(data.subarray(place * width, (place + 1) * width), at * width);
  return float32([places.length, ...rest], rows);
}

/** The tensor with `rows` in the places of those at `places`. */
export function placed({ data, shape }: Tensor, places: readonly number[], rows: Tensor): Tensor {
  const width = widthOf(shape);
  const changed = data.slice();
  for (const [at, place] of places.entries()) {
    changed.set(rows.data.subarray(at * width, (at + 1) * width), place * width);
  }
  return float32(shape, changed);
}

export const scaled = ({ data, shape }: Tensor, scale: number): Tensor =>
  float32(
    shape,
    data.map((number) => number * scale),
  );

export function tensorIn(tensors: Tensors, name: string): Tensor {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`no tensor ${name}`);
  return found;
}

const widthOf = ([, ...rest]: readonly number[]): number => rest.reduce((product, size) => product * size, 1);
