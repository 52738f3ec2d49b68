/**
 * Customised output layers: a device's head has only the classes that it has seen (Lu et al. 2019, SEC: Colla). A mirror
 * of `coterie_learning.heads` and `coterie_learning.client.part`.
 *
 * A class that was not seen gets a bias so low that its probability is zero in float32: it is never predicted, and its row
 * has no gradient. An update holds the rows of the seen classes alone.
 */
import { classesOf, type ModelSpec, type TensorSpec, versionOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { float32, type Tensor, type Tensors } from "../wire/tensors";
import { type Scope, trainsAll } from "./local/interface";

const UNSEEN_BIAS = -1e4;

/** The names of an output layer's tensors: of the weight [classes, units], and of the bias [classes]. */
interface OutputLayer {
  readonly weight: string;
  readonly bias: string;
}

/** Throws CodedError `plan.no_head` where the model's output layer has no bias, or it has none. */
function outputLayer({ head }: ModelSpec): OutputLayer {
  const { weight, bias = null } = head ?? { weight: "" };
  if (bias !== null) return { weight, bias };
  const lacks = head === null ? "output layer of one row for each class" : "bias in its output layer";
  throw new CodedError("plan.no_head", `the model has no ${lacks}, so the plan must train all of it`);
}

/** One device's model in one assignment. Methods throw CodedError `plan.no_head`. */
export class TrainedPart {
  /** `classes` are those that its output layer has, ascending; empty where it has all. */
  constructor(
    private readonly model: ModelSpec,
    private readonly scope: Scope,
    readonly classes: readonly number[],
  ) {}

  /** The model of a device that has samples of the classes `seen`, ascending. */
  static ofDevice(model: ModelSpec, scope: Scope, seen: readonly number[]): TrainedPart {
    return new TrainedPart(model, scope, scope.head === "all" ? [] : seen.filter((label) => label < classesOf(model)));
  }

  /** What training starts from; rows of classes that are new to the device are those of the received version. */
  begin(received: Tensors): Tensors {
    return this.classes.length > 0 ? maskUnseen(received, outputLayer(this.model), this.classes) : received;
  }

  /** What training starts from with the personal model `own`: the rows of new classes are those `received`. */
  goOn(own: Tensors, received: Tensors): Tensors {
    if (this.classes.length === 0) return own;
    const head = outputLayer(this.model);
    const masked = maskedClasses(own, head);
    const rows = this.classes.filter((label) => masked.has(label));
    const begun = new Map(own);
    for (const name of [head.weight, head.bias]) begun.set(name, withRows(of(own, name), of(received, name), rows));
    return this.begin(begun);
  }

  /** The names of the parameters and statistics that no step changes. */
  kept(): ReadonlySet<string> {
    if (this.scope.body === "trained") return new Set();
    const { weight, bias } = outputLayer(this.model);
    return new Set(
      versionOf(this.model)
        .map(({ name }) => name)
        .filter((name) => name !== weight && name !== bias),
    );
  }

  /** `trained`, with the `received` values wherever nothing was trained. */
  end(received: Tensors, trained: Tensors): Tensors {
    const { scope, model } = this;
    if (trainsAll(scope)) return trained;
    const { weight, bias } = outputLayer(model);
    const rows = scope.head === "all" ? everyClass(model) : this.classes;
    const taken = new Map(scope.body === "frozen" ? received : trained);
    for (const name of [weight, bias]) taken.set(name, withRows(of(received, name), of(trained, name), rows));
    return taken;
  }
}

/** The tensors of an update, no more and no less. Throws CodedError `plan.no_head`. */
export function updateSpecs(model: ModelSpec, scope: Scope, classes: readonly number[]): TensorSpec[] {
  if (trainsAll(scope)) return model.parameters;
  const { weight, bias } = outputLayer(model);
  const rows = scope.head === "all" ? classesOf(model) : classes.length;
  return model.parameters.flatMap((spec) => {
    const isOfHead = spec.name === weight || spec.name === bias;
    if (isOfHead) return [{ ...spec, shape: [rows, ...spec.shape.slice(1)] }];
    return scope.body === "trained" ? [spec] : [];
  });
}

/** The part of a whole update that travels. */
export function pick(update: Tensors, model: ModelSpec, scope: Scope, classes: readonly number[]): Tensors {
  return new Map(
    updateSpecs(model, scope, classes).map(({ name, shape }): [string, Tensor] => {
      const whole = of(update, name);
      if (`${whole.shape}` === `${shape}`) return [name, whole];
      const picked = float32(shape);
      const width = widthOf(whole);
      for (const [at, row] of classes.entries()) {
        picked.data.set(whole.data.subarray(row * width, (row + 1) * width), at * width);
      }
      return [name, picked];
    }),
  );
}

/** The inverse of `pick`: a whole update, zero wherever nothing was trained. */
export function place(part: Tensors, model: ModelSpec, classes: readonly number[]): Tensors {
  return new Map(
    model.parameters.map(({ name, shape }): [string, Tensor] => {
      const found = part.get(name);
      if (found === undefined) return [name, float32(shape)];
      if (`${found.shape}` === `${shape}`) return [name, found];
      const whole = float32(shape);
      const width = widthOf(whole);
      for (const [at, row] of classes.entries()) {
        whole.data.set(found.data.subarray(at * width, (at + 1) * width), row * width);
      }
      return [name, whole];
    }),
  );
}

/**
 * A teacher's probabilities [samples, all classes], flattened, if there were only `classes`; uniform where it gives them
 * 0. Sums are of float64, where NumPy's are of float32: the last bit may differ.
 */
export function renormalised(probabilities: Float32Array, all: number, classes: readonly number[]): Float32Array {
  const scaled = new Float32Array(probabilities.length);
  for (let start = 0; start < probabilities.length; start += all) {
    const kept = classes.map((label) => probabilities[start + label] as number);
    const mass = Math.fround(kept.reduce((sum, one) => sum + one, 0));
    for (const [at, label] of classes.entries()) {
      scaled[start + label] = mass > 0 ? (kept[at] as number) / mass : 1 / classes.length;
    }
  }
  return scaled;
}

/** `parameters` with which no class but `classes` is ever predicted or learned. */
function maskUnseen(parameters: Tensors, { bias }: OutputLayer, classes: readonly number[]): Tensors {
  const before = of(parameters, bias);
  const masked = float32(before.shape, new Float32Array(before.data.length).fill(UNSEEN_BIAS));
  return new Map([...parameters, [bias, withRows(masked, before, classes)]]);
}

/** The classes that `parameters` never predict, because `maskUnseen` has taken them away. */
function maskedClasses(parameters: Tensors, { bias }: OutputLayer): ReadonlySet<number> {
  return new Set([...of(parameters, bias).data.entries()].filter(([, b]) => b <= UNSEEN_BIAS / 2).map(([at]) => at));
}

const everyClass = (model: ModelSpec): number[] => Array.from({ length: classesOf(model) }, (_, label) => label);

/** A copy of `tensor` with the `rows` of another. */
function withRows(tensor: Tensor, other: Tensor, rows: readonly number[]): Tensor {
  const copy = float32(tensor.shape, tensor.data.slice());
  const width = widthOf(tensor);
  for (const row of rows) copy.data.set(other.data.subarray(row * width, (row + 1) * width), row * width);
  return copy;
}

const widthOf = ({ data, shape }: Tensor): number => data.length / (shape[0] as number);

function of(tensors: Tensors, name: string): Tensor {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`no tensor ${name}`);
  return found;
}
