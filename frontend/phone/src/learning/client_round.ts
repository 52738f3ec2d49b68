/**
 * One device's part in one round, from what it received to its update: a mirror of `coterie_learning.client.round`.
 *
 * Sans I/O: `wanted` names the samples of the next step; the caller supplies them, and may pause between any two.
 */
import { type ModelSpec, versionOf } from "../wire/bundle";
import { type AnyTensor, decodeFloats, type Tensors } from "../wire/tensors";
import type { Batch } from "./batches";
import { type Checkpoint, Optimisation, type RunStep } from "./optimisation";
import { type SampleSplit, split, stepsPerEpoch } from "./order";
import type { DevicePlan } from "./plan";
import { makeUpdate, type Update } from "./update";

export interface Given {
  readonly plan: DevicePlan;
  readonly model: ModelSpec;
  /** The tensors of the version. */
  readonly received: Tensors;
  /** What training begins from; left out: the version. */
  readonly start?: Tensors;
  /** Those that never change, by the names of the graphs' inputs. */
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the samples that the plan trains on, ascending. */
  readonly ids: readonly number[];
  readonly seed: number;
  /** 256 bits that nobody else knows, for noise. */
  readonly secret: bigint;
  /** What the codec lost of the last accepted update. */
  readonly lost: Tensors | null;
}

export class ClientRound {
  readonly parts: SampleSplit;
  readonly stepsTotal: number;
  private isEnough = false;
  private readonly optimisation: Optimisation;

  /** Throws CodedError `plan.does_not_fit`, or of a damaged checkpoint `tensors.*`. */
  constructor(
    private readonly given: Given,
    runStep: RunStep,
    checkpoint: Checkpoint | null = null,
  ) {
    const { plan, model, received, start = received, frozen, ids, seed } = given;
    this.parts = split(ids);
    const { train } = this.parts;
    this.stepsTotal = plan.local.epochs * stepsPerEpoch(train.length, model.batch_size);
    const anchor = plan.local.begin(received).get("anchor") ?? received;
    const { scalars } = plan.local;
    this.optimisation = new Optimisation({ model, start, anchor, frozen, train, scalars, seed }, runStep);
    if (checkpoint !== null) this.optimisation.restore(checkpoint);
  }

  get model(): ModelSpec {
    return this.given.model;
  }

  get stepsDone(): number {
    return this.optimisation.stepsDone;
  }

  /** The numbers of the samples that the next step trains on; null when training has ended. */
  wanted(): number[] | null {
    return this.isEnough || this.stepsDone >= this.stepsTotal ? null : this.optimisation.batchIds();
  }

  /** One step. Throws CodedError `agent.diverged`, and what the graph throws. */
  learn(batch: Batch): Promise<void> {
    return this.optimisation.step(batch);
  }

  /** End the training after the steps done so far, because no time is left. */
  enough(): void {
    this.isEnough = true;
  }

  /** The tensors of a version after the steps done so far. */
  parameters(): Tensors {
    return this.optimisation.parameters();
  }

  checkpoint(): Checkpoint {
    return this.optimisation.checkpoint();
  }

  /** The update, and the number of samples that it was computed from. Throws CodedError `update.not_finite`. */
  finish(): { update: Update; samples: number } {
    const { plan, model, received, lost, seed, secret } = this.given;
    const update = makeUpdate(received, this.parameters(), { plan, model, lost, seed, secret });
    return { update, samples: Math.min(this.parts.train.length, this.stepsDone * model.batch_size) };
  }
}

/** The parameters of a version from its file. Throws CodedError `tensors.*`. */
export const readVersion = (file: Uint8Array, model: ModelSpec): Tensors => decodeFloats(file, versionOf(model));
