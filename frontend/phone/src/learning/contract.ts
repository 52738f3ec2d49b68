/** What the graphs of a model take and give: a mirror of `coterie_wire.contract` for samples of one shape. */
import { gathered, type ModelSpec, type TensorSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { countOf } from "../wire/tensors";

export const DISTILLATION = "distillation_weight";
const MEASURED = new Set(["classes", "labels", "tokens"]);

/** Whether samples can be right or wrong. */
export const isMeasured = ({ task }: ModelSpec): boolean => MEASURED.has(task);

/** Throws CodedError `plan.does_not_fit` where a phone cannot run the model. */
export function checkModel(model: ModelSpec): void {
  if (model.length !== undefined) {
    throw new CodedError("plan.does_not_fit", "a browser does not train models whose samples differ in length yet");
  }
}

/** By the name of each tensor of a version, what the graphs call it. */
export const versionNames = (model: ModelSpec): ReadonlyMap<string, string> =>
  new Map([
    ...model.parameters.map(({ name }): [string, string] => [name, `param.${name}`]),
    ...gathered(model).map(({ name }): [string, string] => [name, `state.${name}`]),
  ]);

/** What one step hands to the next, under the names of the train step's inputs. */
export const carried = (model: ModelSpec): TensorSpec[] => [
  ...model.parameters.map((spec) => ({ ...spec, name: `param.${spec.name}` })),
  ...gathered(model).map((spec) => ({ ...spec, name: `state.${spec.name}` })),
  ...model.slots,
];

/** The names of what `train_step.onnx` takes. */
export const trainInputs = (model: ModelSpec): Set<string> =>
  new Set([
    ...[...model.inputs, model.target].map(({ name }) => name),
    "sample_weight",
    ...(model.scalars.includes(DISTILLATION) ? ["teacher"] : []),
    ...model.scalars,
    ...(model.seeded ? ["seed"] : []),
    ...carried(model).map(({ name }) => name),
    ...model.parameters.map(({ name }) => `anchor.${name}`),
    ...model.frozen.map(({ name }) => name),
  ]);

/** The names of what `train_step.onnx` gives. */
export const trainOutputs = (model: ModelSpec): Set<string> =>
  new Set([
    ...(isMeasured(model) ? ["loss", "correct"] : ["loss"]),
    ...carried(model).map(({ name }) => `next.${name}`),
  ]);

/** The names of what `predict.onnx` takes. */
export const predictInputs = (model: ModelSpec): Set<string> =>
  new Set([
    ...model.inputs.map(({ name }) => name),
    ...(model.own_loss ? [model.target.name] : []),
    ...versionNames(model).values(),
    ...model.frozen.map(({ name }) => name),
  ]);

/** The names of what `predict.onnx` gives; the model's output is the first. */
export const predictOutputs = (model: ModelSpec): string[] => [
  model.output.name,
  ...(model.own_loss ? ["losses"] : []),
];

/** Numbers that one sample has, over all inputs of the model. */
export const featuresOf = (model: ModelSpec): number =>
  model.inputs.reduce((sum, { shape }) => sum + countOf(shape), 0);

/** Numbers that the target of one sample has; 0 where it is a class. */
export const targetsOf = (model: ModelSpec): number => (model.task === "classes" ? 0 : countOf(model.target.shape));
