/**
 * One device's part in one round, from what it received to its update: a mirror of `coterie_learning.client`.
 *
 * Sans I/O: `wanted` names the samples of the next step; the caller supplies them, and may pause between any two.
 */
import { type ModelSpec, versionOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import {
  type AnyTensor,
  checkFinite,
  countOf,
  decodeFloats,
  encodeTensors,
  float32,
  type Tensor,
  type Tensors,
} from "../wire/tensors";
import type { Batch } from "./batches";
import { carried, checkModel, DISTILLATION, versionNames } from "./contract";
import { NOT_ASKED } from "./local";
import { BatchOrder, type SampleSplit, split, stepsPerEpoch } from "./order";
import type { DevicePlan } from "./plan";
import { stepSeed } from "./random";
import { makeUpdate, type Update } from "./update";

/** Runs a train step graph: all its inputs by name, to all its outputs by name. */
export type RunStep = (feeds: ReadonlyMap<string, AnyTensor>) => Promise<ReadonlyMap<string, AnyTensor>>;

export interface Given {
  readonly plan: DevicePlan;
  readonly model: ModelSpec;
  /** The tensors of the version. */
  readonly received: Tensors;
  /** Those that never change, by the names of the graphs' inputs. */
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the samples that the plan trains on, ascending. */
  readonly ids: readonly number[];
  readonly seed: number;
  /** What the codec lost of the last accepted update. */
  readonly lost: Tensors | null;
}

export interface Checkpoint {
  readonly stepsDone: number;
  /** Parameters, statistics and optimiser state, as safetensors. */
  readonly tensors: Uint8Array;
}

export class ClientRound {
  readonly parts: SampleSplit;
  readonly stepsTotal: number;
  stepsDone = 0;
  private carried: ReadonlyMap<string, Tensor>;
  private isEnough = false;
  private readonly fixed: ReadonlyMap<string, AnyTensor>;
  private readonly order: BatchOrder;

  /** Throws CodedError `plan.does_not_fit`, or of a damaged checkpoint `tensors.*`. */
  constructor(
    private readonly given: Given,
    private readonly runStep: RunStep,
    checkpoint: Checkpoint | null = null,
  ) {
    const { plan, model, received, ids, seed } = given;
    checkModel(model);
    checkScalars(given);
    this.parts = split(ids);
    this.stepsTotal = plan.local.epochs * stepsPerEpoch(this.parts.train.length, model.batch_size);
    this.order = new BatchOrder(this.parts.train, seed, model.batch_size);
    const anchor = plan.local.begin(received).get("anchor") ?? received;
    const teacher = [model.batch_size, ...model.output.shape];
    this.fixed = new Map<string, AnyTensor>([
      ...model.parameters.map(({ name }): [string, AnyTensor] => [`anchor.${name}`, tensorOf(anchor, name)]),
      ...(model.scalars.includes(DISTILLATION) ? [["teacher", float32(teacher)] as const] : []),
      ...given.frozen,
    ]);
    this.carried = new Map([
      ...[...versionNames(model)].map(([name, role]): [string, Tensor] => [role, tensorOf(received, name)]),
      ...model.slots.map(({ name, shape }): [string, Tensor] => [name, float32(shape)]),
    ]);
    if (checkpoint !== null) this.restore(checkpoint);
  }

  get model(): ModelSpec {
    return this.given.model;
  }

  /** The numbers of the samples that the next step trains on; null when training has ended. */
  wanted(): number[] | null {
    return this.isEnough || this.stepsDone >= this.stepsTotal ? null : this.order.ids(this.stepsDone);
  }

  /** One step. Throws CodedError `agent.diverged`, and what the graph throws. */
  async learn(batch: Batch): Promise<void> {
    const found = await this.runStep(new Map([...this.fixed, ...this.carried, ...this.feeds(batch)]));
    const loss = Number(found.get("loss")?.data[0]);
    if (!Number.isFinite(loss)) {
      const detail = `the loss of step ${this.stepsDone} is not finite; the plan's learning rate may be too high`;
      throw new CodedError("agent.diverged", detail);
    }
    this.carried = new Map([...this.carried.keys()].map((name) => [name, found.get(`next.${name}`) as Tensor]));
    this.stepsDone += 1;
  }

  /** End the training after the steps done so far, because no time is left. */
  enough(): void {
    this.isEnough = true;
  }

  /** The tensors of a version after the steps done so far. */
  parameters(): Tensors {
    return new Map([...versionNames(this.given.model)].map(([name, role]) => [name, tensorOf(this.carried, role)]));
  }

  checkpoint(): Checkpoint {
    return { stepsDone: this.stepsDone, tensors: encodeTensors(this.carried) };
  }

  /** The update, and the number of samples that it was computed from. Throws CodedError `update.not_finite`. */
  finish(): { update: Update; samples: number } {
    const { plan, model, received, lost, seed } = this.given;
    const update = makeUpdate(received, this.parameters(), { plan, model, lost, seed });
    return { update, samples: Math.min(this.parts.train.length, this.stepsDone * model.batch_size) };
  }

  private feeds(batch: Batch): Map<string, AnyTensor> {
    const { model, plan, seed } = this.given;
    const scalar = (name: string): number =>
      name === "step" ? this.stepsDone : plan.local.scalars[name as keyof typeof plan.local.scalars];
    const feeds = new Map<string, AnyTensor>([
      [model.target.name, batch.target],
      ["sample_weight", batch.sampleWeight],
      ...model.scalars.map((name): [string, AnyTensor] => [name, float32([], Float32Array.of(scalar(name)))]),
      ...batch.inputs,
    ]);
    if (model.seeded) {
      const data = BigInt64Array.of(BigInt(stepSeed(seed, this.stepsDone)));
      feeds.set("seed", { dtype: "int64", shape: [], data });
    }
    return feeds;
  }

  private restore({ stepsDone, tensors }: Checkpoint): void {
    const found = decodeFloats(tensors, carried(this.given.model));
    checkFinite(found);
    this.carried = found;
    this.stepsDone = stepsDone;
  }
}

/** Throws CodedError `plan.does_not_fit` where the graph lacks a scalar that the plan asks for. */
function checkScalars({ plan, model }: Given): void {
  for (const [name, unasked] of Object.entries(NOT_ASKED)) {
    const asked = plan.local.scalars[name as keyof typeof NOT_ASKED];
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

/** The parameters of a version from its file. Throws CodedError `tensors.*`. */
export const readVersion = (file: Uint8Array, model: ModelSpec): Tensors => decodeFloats(file, versionOf(model));

/** Numbers that a version has. */
export const numbersOf = (model: ModelSpec): number =>
  versionOf(model).reduce((sum, { shape }) => sum + countOf(shape), 0);
