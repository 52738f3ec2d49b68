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
import { type Local, personalLayers, type Scope, trainsAll } from "./local/interface";
import { chosen, chosenSpecs, pickChosen, placeChosen } from "./subsets";

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

  /**
   * What training starts from with the personal model `before`: shared layers, and the rows of new classes, are those
   * `received`.
   */
  goOn(before: Tensors, received: Tensors): Tensors {
    const own = renewed(before, received, this.model, this.scope);
    if (this.classes.length === 0) return own;
    const head = outputLayer(this.model);
    const masked = maskedClasses(own, head);
    const rows = this.classes.filter((label) => masked.has(label));
    const begun = new Map(own);
    for (const name of [head.weight, head.bias]) begun.set(name, withRows(of(own, name), of(received, name), rows));
    return this.begin(begun);
  }

  /**
   * The names of the parameters and statistics that a step does not change, by its number (0-based), where a pass over the
   * samples takes `epoch` steps.
   */
  kept({ frozenLayers }: Pick<Local, "frozenLayers">, epoch: number): (step: number) => ReadonlySet<string> {
    const always = this.frozen();
    const personal = personalLayers(this.scope, this.model);
    const layers = {
      personal,
      shared: new Set(this.model.parameters.map(({ name }) => name).filter((name) => !personal.has(name))),
    };
    return (step) => {
      const now = frozenLayers(step, epoch);
      return now === null ? always : new Set([...always, ...layers[now]]);
    };
  }

  /** The names of the parameters and statistics that no step changes. */
  private frozen(): ReadonlySet<string> {
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

/**
 * The personal model `own` once a version was `received`: its own layers stay, those that are shared are new. Where no
 * layers stay on the device it is a model of its own, which no version changes.
 */
export function renewed(own: Tensors, received: Tensors, model: ModelSpec, scope: Scope): Tensors {
  const kept = personalLayers(scope, model);
  if (kept.size === 0) return own;
  return new Map([...received].map(([name, tensor]) => [name, kept.has(name) ? of(own, name) : tensor]));
}

/** The tensors of an update, no more and no less. Throws CodedError `plan.no_head`. */
export function updateSpecs(model: ModelSpec, scope: Scope, classes: readonly number[]): TensorSpec[] {
  const specs = sentSpecs(model, scope, classes);
  return scope.share === 1 ? specs : chosenSpecs(specs, scope.share);
}

/**
 * The tensors that an update says something of, whole, where it may have a random subset of their parameters. Throws
 * CodedError `plan.no_head`.
 */
function sentSpecs(model: ModelSpec, scope: Scope, classes: readonly number[]): TensorSpec[] {
  const kept = personalLayers(scope, model);
  const travelling = model.parameters.filter(({ name }) => !kept.has(name));
  if (trainsAll(scope)) return travelling;
  const { weight, bias } = outputLayer(model);
  const rows = scope.head === "all" ? classesOf(model) : classes.length;
  return travelling.flatMap((spec) => {
    const isOfHead = spec.name === weight || spec.name === bias;
    if (isOfHead) return [{ ...spec, shape: [rows, ...spec.shape.slice(1)] }];
    return scope.body === "trained" ? [spec] : [];
  });
}

/** What of whole updates travels. */
export interface Travelling {
  readonly model: ModelSpec;
  readonly scope: Scope;
  /** Those whose rows of a customised output layer are trained; empty where it has all. */
  readonly classes: readonly number[];
  /** What tells the random subset, where it is of one. */
  readonly draw: number;
}

/** The part of a whole update that travels. */
export function pick(update: Tensors, { model, scope, classes, draw }: Travelling): Tensors {
  const specs = sentSpecs(model, scope, classes);
  const sent = new Map(
    specs.map(({ name, shape }): [string, Tensor] => {
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
  return scope.share === 1 ? sent : pickChosen(sent, chosen(specs, scope.share, draw));
}

/** The inverse of `pick`: a whole update, zero wherever nothing was trained. */
export function place(part: Tensors, { model, scope, classes, draw }: Travelling): Tensors {
  const specs = sentSpecs(model, scope, classes);
  const zeros = new Map(specs.map(({ name, shape }) => [name, float32(shape)]));
  const sent = scope.share === 1 ? part : placeChosen(part, chosen(specs, scope.share, draw), zeros);
  return new Map(
    model.parameters.map(({ name, shape }): [string, Tensor] => {
      const found = sent.get(name);
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
