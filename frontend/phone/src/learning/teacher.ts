/**
 * The cloud model as a device's teacher, and its probabilities as the device stores them: a mirror of
 * `coterie_learning.teacher` and `coterie_learning.client.teacher_probabilities`.
 */
import * as v from "valibot";
import { BlobRef, type ModelSpec, readSigned, TensorSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { Count, type SignedManifest } from "../wire/messages";
import { checkFinite, decodeTensors, float32, type Tensors } from "../wire/tensors";
import { renormalised } from "./heads";
import { multiplied } from "./levels";
import { rint } from "./noise";

/** Of float16: the bits of a fraction, and the exponent of its smallest normal number. */
const [FRACTION_BITS, SMALLEST_EXPONENT] = [10, -14];

const Teacher = v.strictObject({
  protocol: Count,
  pair: v.string(),
  version: v.string(),
  inputs: v.array(TensorSpec),
  classes: v.pipe(v.number(), v.integer()),
  parameters: v.array(TensorSpec),
  predict: BlobRef,
  weights: BlobRef,
});
/**
 * One version of the cloud model. The graph takes `inputs` with any leading batch axis and `param.NAME` for each of
 * `parameters`, and gives `logits` [batch, classes].
 */
export type Teacher = v.InferOutput<typeof Teacher>;

/** The teacher that the platform signed. Throws CodedError `bundle.*`. */
export const verifyTeacher = (signed: SignedManifest, ...platformKeys: Uint8Array[]): Teacher =>
  readSigned(signed, Teacher, ...platformKeys);

/** What a device downloads of a teacher; the graph is that of every version. */
export const partsOfTeacher = ({ predict, weights }: Teacher): BlobRef[] => [predict, weights];

/** The teacher as a model that predicts. Throws CodedError `model.contract` where it is none for what `model` learns. */
export function modelOf(teacher: Teacher, model: ModelSpec): ModelSpec {
  const { inputs, classes, parameters } = teacher;
  const fits = model.task === "classes" && JSON.stringify(inputs) === JSON.stringify(model.inputs);
  if (!fits || classes !== model.output.shape[0]) {
    const detail = "the teacher takes other samples, or knows other classes, than the model";
    throw new CodedError("model.contract", detail);
  }
  return {
    inputs,
    parameters,
    target: { name: "target", dtype: "int64", shape: [] },
    output: { name: "logits", dtype: "float32", shape: [classes] },
    task: "classes",
    batch_size: model.batch_size,
    slots: [],
    scalars: [],
    statistics: [],
    frozen: [],
    seeded: false,
    head: null,
    padding: null,
  };
}

/** Parameters from a byte each, and one scale a row. Throws CodedError `tensors.*`. */
export function restoreWeights(content: Uint8Array, parameters: readonly TensorSpec[]): Tensors {
  const stored = decodeTensors(content, parameters.flatMap(storedSpecs));
  const restored = new Map(
    parameters.map(({ name, shape }) => {
      const [floats, codes, scales] = [`float.${name}`, `code.${name}`, `scale.${name}`].map((one) => stored.get(one));
      const data = floats?.data ?? multiplied(codes?.data as Int8Array, scales?.data as Float32Array);
      return [name, float32(shape, data as Float32Array)] as const;
    }),
  );
  checkFinite(restored);
  return restored;
}

function storedSpecs({ name, dtype, shape }: TensorSpec): TensorSpec[] {
  if (dtype !== "float32") throw new CodedError("tensors.wrong_shape", `parameter ${name} of a teacher is ${dtype}`);
  if (shape.length < 2) return [{ name: `float.${name}`, dtype, shape }];
  return [
    { name: `code.${name}`, dtype: "int8", shape },
    { name: `scale.${name}`, dtype, shape: shape.slice(0, 1) },
  ];
}

/** The probabilities that one row of `logits` stands for, as float16. */
export function storedProbabilities(logits: readonly number[]): Uint16Array {
  const most = Math.max(...logits);
  const rest = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  return Uint16Array.from(logits, (logit) => halfOf(Math.fround(Math.exp(logit - most - rest))));
}

/** What is taken for the answer about a sample for which there is none. */
export const uniform = (classes: number): Uint16Array => new Uint16Array(classes).fill(halfOf(1 / classes));

/** The targets [samples, all classes], flattened: renormalised over `classes`, where any are named. */
export function taught(stored: readonly Uint16Array[], classes: readonly number[]): Float32Array {
  const all = stored[0]?.length ?? 0;
  const probabilities = Float32Array.from(stored.flatMap((row) => Array.from(row, numberOf)));
  return classes.length > 0 ? renormalised(probabilities, all, classes) : probabilities;
}

/** The bits of the float16 nearest to `number` of [0, 1], of two the even. */
function halfOf(number: number): number {
  const exponent = Math.max(SMALLEST_EXPONENT, Math.floor(Math.log2(number)));
  const fraction = rint(number / 2 ** (exponent - FRACTION_BITS));
  return fraction + (exponent - SMALLEST_EXPONENT) * 2 ** FRACTION_BITS;
}

/** The number of [0, 1] whose float16 has these `bits`. */
function numberOf(bits: number): number {
  const exponent = Math.max(1, bits >> FRACTION_BITS);
  const fraction = bits - (exponent - 1) * 2 ** FRACTION_BITS;
  return fraction * 2 ** (exponent - 1 + SMALLEST_EXPONENT - FRACTION_BITS);
}
