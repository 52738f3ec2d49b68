/** Samples as the graphs take them, filled up to the batch size and masked: `coterie_agent.training.batches`. */
import type { Dtype, ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { type AnyTensor, countOf, float32 } from "../wire/tensors";
import { featuresOf, targetsOf } from "./contract";

/** A sample as it is stored: its features flattened, and its class or the numbers of its target. */
export interface Sample {
  readonly id: number;
  readonly x: Float32Array;
  readonly label: number;
  readonly target: Float32Array;
}

export interface Batch {
  readonly inputs: ReadonlyMap<string, AnyTensor>;
  readonly target: AnyTensor;
  /** 1 for a sample, 0 for padding. */
  readonly sampleWeight: AnyTensor;
}

/** Throws CodedError `data.does_not_fit`. */
export function makeBatch(rows: readonly Sample[], model: ModelSpec, size: number): Batch {
  const weight = new Float32Array(size).fill(1, 0, rows.length);
  return {
    inputs: inputsOf(rows, model, size),
    target: targetOf(rows, model, size),
    sampleWeight: float32([size], weight),
  };
}

function inputsOf(rows: readonly Sample[], model: ModelSpec, size: number): Map<string, AnyTensor> {
  const features = featuresOf(model);
  for (const { x } of rows) {
    if (x.length !== features) throw misfit(`samples have ${x.length} features, the model takes ${features}`);
  }
  const inputs = new Map<string, AnyTensor>();
  let start = 0;
  for (const { name, dtype, shape } of model.inputs) {
    const width = countOf(shape);
    const flat = new Float32Array(size * width);
    for (const [row, { x }] of rows.entries()) flat.set(x.subarray(start, start + width), row * width);
    inputs.set(name, { dtype, shape: [size, ...shape], data: converted(flat, dtype) });
    start += width;
  }
  return inputs;
}

function targetOf(rows: readonly Sample[], model: ModelSpec, size: number): AnyTensor {
  const { target, task } = model;
  const width = countOf(target.shape);
  const flat = new Float64Array(size * width);
  for (const [row, sample] of rows.entries()) {
    if (task === "classes") {
      flat[row] = sample.label;
    } else if (sample.target.length !== targetsOf(model)) {
      throw misfit(`targets have ${sample.target.length} numbers, the model's ${targetsOf(model)}`);
    } else {
      flat.set(sample.target, row * width);
    }
  }
  const classes = model.output.shape.at(-1) ?? 0;
  if (task === "classes" || task === "tokens") {
    const wrong = flat.find((label) => label < 0 || label >= classes);
    if (wrong !== undefined) throw misfit(`a label is ${wrong}, the model's classes end at ${classes - 1}`);
  }
  const dtype = target.dtype === "float32" ? "float32" : "int64";
  return { dtype, shape: [size, ...target.shape], data: converted(flat, dtype) };
}

function converted(numbers: Float32Array | Float64Array, dtype: Dtype): AnyTensor["data"] {
  switch (dtype) {
    case "float32":
      return Float32Array.from(numbers);
    case "int64":
      return BigInt64Array.from(numbers, (number) => BigInt(Math.trunc(number)));
    case "int32":
      return Int32Array.from(numbers);
    case "int8":
      return Int8Array.from(numbers);
    default:
      return Uint8Array.from(numbers, (number) => (dtype === "bool" ? Number(number !== 0) : number));
  }
}

const misfit = (detail: string): CodedError => new CodedError("data.does_not_fit", detail);
