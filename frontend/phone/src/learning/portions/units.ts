/**
 * The output rows of some classes and the body units they depend on most, put where the target needs units least: a
 * mirror of `coterie_learning.portions.units` (Canoe's significant parameters, arXiv 2108.12124).
 */
import type { ModelSpec, TensorSpec } from "../../wire/bundle";
import { float32, type Tensor, type Tensors } from "../../wire/tensors";
import { float32Norms } from "./float32_sums";
import {
  headOf,
  mergedBias,
  partitionRows,
  picked,
  placed,
  ROWS,
  rowSpecs,
  scaled,
  scaleTo,
  tensorIn,
  unsupported,
  without,
} from "./rows";

const UNITS = "units";
const UNIT_BIASES = "unit_biases";

/** The layer that feeds the head. */
interface Body {
  readonly weight: string;
  readonly bias: string | null;
}

/** The last layer whose units are the features of the head. Throws CodedError `portion.unsupported` where there is none. */
function bodyOf(model: ModelSpec): Body {
  const head = headOf(model);
  const features = featuresOf(model);
  const feeding = model.parameters.filter(
    ({ name, shape }) => name !== head.weight && shape.length >= 2 && shape[0] === features,
  );
  const weight = feeding.at(-1)?.name;
  if (weight === undefined) throw unsupported(`no layer has the ${features} units that feed the output layer`);
  const bias = `${weight.endsWith("weight") ? weight.slice(0, -"weight".length) : weight}bias`;
  const shape = model.parameters.find(({ name }) => name === bias)?.shape;
  return { weight, bias: shape?.length === 1 && shape[0] === features ? bias : null };
}

/** Of the output layer. */
function featuresOf(model: ModelSpec): number {
  const { weight } = headOf(model);
  return model.parameters.find(({ name }) => name === weight)?.shape[1] ?? 0;
}

/** Units in a portion: `share` of those that feed the head, at least one. */
const unitCount = (model: ModelSpec, share: number): number => Math.ceil(share * featuresOf(model));

/** What `partitionUnits` gives. Throws CodedError `portion.unsupported`. */
export function unitSpecs(model: ModelSpec, classes: readonly number[], share: number): TensorSpec[] {
  const [body, units] = [bodyOf(model), unitCount(model, share)];
  const [, ...biases] = rowSpecs(model, classes);
  const shape = model.parameters.find(({ name }) => name === body.weight)?.shape ?? [];
  return [
    { name: ROWS, dtype: "float32", shape: [classes.length, units] },
    ...biases,
    { name: UNITS, dtype: "float32", shape: [units, ...shape.slice(1)] },
    ...(body.bias === null ? [] : [{ name: UNIT_BIASES, dtype: "float32" as const, shape: [units] }]),
  ];
}

/** The helper's rows of `classes` on the units that matter most to them, and those units. Throws CodedError `portion.unsupported`. */
export function partitionUnits(
  parameters: Tensors,
  model: ModelSpec,
  classes: readonly number[],
  share: number,
): Tensors {
  const body = bodyOf(model);
  const portion = new Map(partitionRows(parameters, model, classes));
  const rows = tensorIn(portion, ROWS);
  const chosen = ascending(significance(parameters, body, rows).map((one) => -one)).slice(0, unitCount(model, share));
  portion.set(ROWS, columnsOf(rows, chosen));
  portion.set(UNITS, picked(tensorIn(parameters, body.weight), chosen));
  if (body.bias !== null) portion.set(UNIT_BIASES, picked(tensorIn(parameters, body.bias), chosen));
  return portion;
}

/**
 * The target's parameters with the received units in place of those that its `known` classes need least. The received
 * classes depend on the received units only, all others no longer on them.
 */
export function mergeUnits(
  parameters: Tensors,
  model: ModelSpec,
  portion: Tensors,
  classes: readonly number[],
  known: readonly number[],
): Tensors {
  const [head, body] = [headOf(model), bodyOf(model)];
  const [weight, units] = [tensorIn(parameters, head.weight), tensorIn(parameters, body.weight)];
  const [rows, received] = [tensorIn(portion, ROWS), tensorIn(portion, UNITS)];
  const own = picked(weight, without(known, classes));
  const places = ascending(significance(parameters, body, own)).slice(0, received.shape[0]);
  const scale = scaleTo(rows, own);
  const unitScale = scaleTo(received, units);
  const merged = new Map([
    ...parameters,
    [head.weight, grafted(weight, places, classes, scaled(rows, scale))] as const,
    [body.weight, placed(units, places, scaled(received, unitScale))] as const,
  ]);
  if (head.bias !== null) merged.set(head.bias, mergedBias(parameters, head.bias, portion, classes, scale));
  if (body.bias !== null) {
    const biases = scaled(tensorIn(portion, UNIT_BIASES), unitScale);
    merged.set(body.bias, placed(tensorIn(parameters, body.bias), places, biases));
  }
  return merged;
}

/** The output weights where no class leans on the units at `places` but `classes`, which lean on nothing else, by `rows`. */
function grafted({ data, shape }: Tensor, places: readonly number[], classes: readonly number[], rows: Tensor): Tensor {
  const [count, features] = shape as [number, number];
  const changed = data.slice();
  for (const place of places) for (let row = 0; row < count; row++) changed[row * features + place] = 0;
  for (const [at, label] of classes.entries()) {
    changed.fill(0, label * features, (label + 1) * features);
    for (const [column, place] of places.entries()) {
      changed[label * features + place] = rows.data[at * places.length + column] as number;
    }
  }
  return float32(shape, changed);
}

/** How much `rows` depend on each unit, in float32: its output weights times its input weights, in size. */
function significance(parameters: Tensors, body: Body, { data, shape }: Tensor): Float32Array {
  const [count, features] = shape as [number, number];
  const outgoing = new Float32Array(features);
  for (let row = 0; row < count; row++) {
    for (let unit = 0; unit < features; unit++) {
      outgoing[unit] = (outgoing[unit] as number) + Math.abs(data[row * features + unit] as number);
    }
  }
  const incoming = float32Norms(tensorIn(parameters, body.weight).data, features);
  return outgoing.map((one, unit) => one * (incoming[unit] as number));
}

/** The places of `numbers` from the least to the greatest; of equal ones the earlier comes first. */
const ascending = (numbers: Float32Array): number[] =>
  Array.from(numbers.keys()).sort((a, b) => (numbers[a] as number) - (numbers[b] as number));

function columnsOf({ data, shape }: Tensor, columns: readonly number[]): Tensor {
  const [rows, width] = shape as [number, number];
  const chosen = Array.from({ length: rows }, (_, row) => columns.map((at) => data[row * width + at] as number));
  return float32([rows, columns.length], Float32Array.from(chosen.flat()));
}
