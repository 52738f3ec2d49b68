/** The optimisation between two steps: a mirror of `coterie_learning.client.optimisation`, with the same scalars in every step. */
import type { ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import {
  type AnyTensor,
  checkFinite,
  decodeFloats,
  encodeTensors,
  float32,
  type Tensor,
  type Tensors,
} from "../wire/tensors";
import type { Batch } from "./batches";
import { carried, checkModel, DISTILLATION, versionNames } from "./contract";
import { type Gradients, type Local, NOT_ASKED, type StepScalars } from "./local/interface";
import { BatchOrder } from "./order";
import { stepSeed } from "./random";
import { StepUnderWay } from "./step_under_way";
import { type Positions, pickChosen, placeChosen } from "./subsets";

/** Runs a train step graph: all its inputs by name, to all its outputs by name. */
export type RunStep = (feeds: ReadonlyMap<string, AnyTensor>) => Promise<ReadonlyMap<string, AnyTensor>>;

export interface Optimised {
  readonly model: ModelSpec;
  /** The tensors of a version, from which it begins. */
  readonly start: Tensors;
  /** Where the proximal term is centred. */
  readonly anchor: Tensors;
  /** Those that never change, by the names of the graphs' inputs. */
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the samples to train on. */
  readonly train: readonly number[];
  readonly scalars: StepScalars;
  /** By what a batch's step is multiplied; left out: by 1. */
  readonly batchShare?: Local["batchShare"];
  /** How a step is made of several runs; left out or null: each is one. */
  readonly gradients?: Gradients | null;
  readonly seed: number;
  /** Names of the tensors of a version that step `step` (0-based) does not change; left out: it changes all. */
  readonly kept?: (step: number) => ReadonlySet<string>;
  /** Where some of a tensor's parameters are trained alone: the others stay as they are in `start`. */
  readonly chosen?: Positions;
}

export interface Checkpoint {
  readonly stepsDone: number;
  /** Parameters, statistics and optimiser state, and the step under way, as safetensors. */
  readonly tensors: Uint8Array;
}

export class Optimisation {
  stepsDone = 0;
  private carried: ReadonlyMap<string, Tensor>;
  private readonly fixed: ReadonlyMap<string, AnyTensor>;
  private readonly order: BatchOrder;
  private readonly roles: ReadonlyMap<string, string>;
  private readonly underWay: StepUnderWay | null;

  /** Throws CodedError `plan.does_not_fit`. */
  constructor(
    private readonly given: Optimised,
    private readonly runStep: RunStep,
  ) {
    const { model, start, anchor, frozen, train, seed, scalars, gradients = null } = given;
    checkModel(model);
    checkScalars(scalars, model);
    this.order = new BatchOrder(train, seed, model.batch_size);
    this.roles = versionNames(model);
    this.underWay = gradients === null ? null : new StepUnderWay(gradients, model.parameters);
    this.fixed = new Map<string, AnyTensor>([
      ...model.parameters.map(({ name }): [string, AnyTensor] => [`anchor.${name}`, tensorOf(anchor, name)]),
      ...(model.scalars.includes(DISTILLATION) ? [["teacher", float32(teacherShape(model))] as const] : []),
      ...frozen,
    ]);
    this.carried = new Map([
      ...[...this.roles].map(([name, role]): [string, Tensor] => [role, tensorOf(start, name)]),
      ...model.slots.map(({ name, shape }): [string, Tensor] => [name, float32(shape)]),
    ]);
  }

  /** The numbers of the samples that the next step trains on. */
  batchIds(): number[] {
    return this.order.ids(this.batchNumber);
  }

  /**
   * One step; `teacher` are a teacher's probabilities [samples of the batch, *output], flattened.
   * Throws CodedError `agent.diverged`, and what the graph throws; nothing has changed then.
   */
  async step(batch: Batch, teacher: Float32Array | null = null): Promise<void> {
    const found = await this.runStep(new Map([...this.fixed, ...this.carried, ...this.feeds(batch, teacher)]));
    const loss = Number(found.get("loss")?.data[0]);
    if (!Number.isFinite(loss)) {
      const detail = `the loss of step ${this.stepsDone} is not finite; the plan's learning rate may be too high`;
      throw new CodedError("agent.diverged", detail);
    }
    const next = (name: string): Tensor => found.get(`next.${name}`) as Tensor;
    const moved = new Map([...this.carried.keys()].map((role) => [role, next(role)]));
    if (this.underWay !== null) {
      const steps = this.underWay.move(this.versionOf(this.carried), this.versionOf(moved));
      for (const [name, tensor] of steps) moved.set(this.roles.get(name) as string, tensor);
    }
    for (const name of this.given.kept?.(this.stepsDone) ?? []) {
      const role = this.roles.get(name) as string;
      moved.set(role, tensorOf(this.carried, role));
    }
    this.carried = this.withoutUnchosen(moved);
    this.stepsDone += 1;
  }

  /** The tensors of a version after the last step that is complete. */
  parameters(): Tensors {
    return new Map([...this.versionOf(this.carried), ...(this.underWay?.begun ?? [])]);
  }

  checkpoint(): Checkpoint {
    const tensors = encodeTensors(new Map([...this.carried, ...(this.underWay?.saved() ?? [])]));
    return { stepsDone: this.stepsDone, tensors };
  }

  /** Throws CodedError `tensors.*`. */
  restore({ stepsDone, tensors }: Checkpoint): void {
    const specs = carried(this.given.model);
    const found = decodeFloats(tensors, [...specs, ...(this.underWay?.specs(stepsDone) ?? [])]);
    checkFinite(found);
    this.carried = new Map(specs.map(({ name }) => [name, tensorOf(found, name)]));
    this.underWay?.restore(found, stepsDone);
    this.stepsDone = stepsDone;
  }

  /** Which batch of the training the next run of the graph gets. */
  private get batchNumber(): number {
    return this.given.gradients?.batch(this.stepsDone) ?? this.stepsDone;
  }

  /** The tensors of a version among those that steps hand on. */
  private versionOf(handedOn: ReadonlyMap<string, Tensor>): Tensors {
    return new Map([...this.roles].map(([name, role]) => [name, tensorOf(handedOn, role)]));
  }

  /** What a step has `moved`, but where parameters were not chosen as it was at the start. */
  private withoutUnchosen(moved: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> {
    const { chosen, start } = this.given;
    if (chosen === undefined) return moved;
    const after = new Map(
      [...chosen.keys()].map((name) => [name, tensorOf(moved, this.roles.get(name) as string)] as const),
    );
    const found = placeChosen(pickChosen(after, chosen), chosen, start);
    return new Map([...moved, ...[...found].map(([name, one]) => [this.roles.get(name) as string, one] as const)]);
  }

  private feeds(batch: Batch, teacher: Float32Array | null): Map<string, AnyTensor> {
    const { model, seed, train, batchShare = () => 1 } = this.given;
    const samples = [...batch.sampleWeight.data].filter((weight) => weight !== 0).length;
    const learning_rate = this.given.scalars.learning_rate * batchShare(samples, train.length);
    const scalars: StepScalars = { ...this.given.scalars, learning_rate };
    const scalar = (name: string): number => (name === "step" ? this.stepsDone : scalars[name as keyof StepScalars]);
    const feeds = new Map<string, AnyTensor>([
      [model.target.name, batch.target],
      ["sample_weight", batch.sampleWeight],
      ...model.scalars.map((name): [string, AnyTensor] => [name, float32([], Float32Array.of(scalar(name)))]),
      ...batch.inputs,
    ]);
    if (teacher !== null) {
      const filled = float32(teacherShape(model));
      filled.data.set(teacher);
      feeds.set("teacher", filled);
    }
    if (model.seeded) {
      const data = BigInt64Array.of(BigInt(stepSeed(seed, this.batchNumber)));
      feeds.set("seed", { dtype: "int64", shape: [], data });
    }
    return feeds;
  }
}

const teacherShape = ({ batch_size, output }: ModelSpec): number[] => [batch_size, ...output.shape];

/** Throws CodedError `plan.does_not_fit` where the graph lacks a scalar that the plan asks for. */
function checkScalars(scalars: StepScalars, model: ModelSpec): void {
  for (const [name, unasked] of Object.entries(NOT_ASKED)) {
    const asked = scalars[name as keyof typeof NOT_ASKED];
    if (asked !== unasked && !model.scalars.includes(name)) {
      throw new CodedError("plan.does_not_fit", `it asks for ${name} ${asked}, but the model was compiled without`);
    }
  }
}

function tensorOf(tensors: Tensors, name: string): Tensor {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`no tensor ${name}`);
  return found;
}
