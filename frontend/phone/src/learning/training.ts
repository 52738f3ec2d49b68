/**
 * A training from its first step to its last: optimisation, and early stopping on samples held out. A mirror of
 * `coterie_learning.client.training` and `coterie_learning.stopping`.
 *
 * Sans I/O: `wanted` names what is needed next; the caller supplies it, and may pause between any two.
 */
import { type ModelSpec, versionOf } from "../wire/bundle";
import { decodeFloats, encodeTensors, type Tensors } from "../wire/tensors";
import type { Batch } from "./batches";
import type { Stopping } from "./local/interface";
import type { Checkpoint, Optimisation } from "./optimisation";
import { type SampleSplit, stepsPerEpoch } from "./order";

/** The state of early stopping. */
export interface Watched {
  /** How many were judged, what it starts from among them where that is judged. */
  readonly epochs: number;
  /** Lowest loss on the samples held out; null before there is one. */
  readonly bestLoss: number | null;
  /** Epochs since it was reached. */
  readonly waited: number;
}

export interface TrainingCheckpoint {
  readonly optimisation: Checkpoint;
  /** The classes of the device's output layer, where the plan customises it. */
  readonly classes: readonly number[];
  readonly watched: Watched;
  /** The loss of what is judged first, once it is known. */
  readonly lossBefore: number | null;
  /** The tensors of the best epoch so far, as safetensors. */
  readonly best: Uint8Array | null;
}

/** What the training needs next: a step on some samples, or the mean loss of some parameters on others. */
export type Wanted =
  | { readonly want: "learn"; readonly ids: readonly number[] }
  | { readonly want: "judge"; readonly parameters: Tensors; readonly ids: readonly number[] };

export interface GivenTraining {
  readonly model: ModelSpec;
  readonly optimisation: Optimisation;
  readonly parts: SampleSplit;
  /** Steps, if nothing ends training early. */
  readonly stepsTotal: number;
  /** When it ends early, and which epoch it keeps; null: it goes on to the last epoch and keeps that. */
  readonly stopping: Pick<Stopping, "patience"> | null;
  /** Whether what it starts from is judged, too, and kept where no epoch is better. */
  readonly judgesStart?: boolean;
  readonly classes?: readonly number[];
  /** The version whose loss over the training samples is wanted before the first step; null: none is. */
  readonly judgedFirst?: Tensors | null;
}

export class Training {
  private watched: Watched = { epochs: 0, bestLoss: null, waited: 0 };
  private best: Uint8Array | null = null;
  private isEnough = false;
  /** The loss of what is judged first, once it is known. */
  lossBefore: number | null = null;

  /** It goes on from the `checkpoint`, if there is one. Throws CodedError `tensors.*` where that is damaged. */
  constructor(
    private readonly given: GivenTraining,
    checkpoint: TrainingCheckpoint | null,
  ) {
    if (checkpoint === null) return;
    given.optimisation.restore(checkpoint.optimisation);
    this.watched = checkpoint.watched;
    this.best = checkpoint.best;
    this.lossBefore = checkpoint.lossBefore;
  }

  get model(): ModelSpec {
    return this.given.model;
  }

  get parts(): SampleSplit {
    return this.given.parts;
  }

  get classes(): readonly number[] {
    return this.given.classes ?? [];
  }

  get stepsDone(): number {
    return this.given.optimisation.stepsDone;
  }

  get stepsTotal(): number {
    return this.given.stepsTotal;
  }

  /** null when training has ended. */
  wanted(): Wanted | null {
    const { stepsDone, watched } = this;
    const { optimisation, parts, stepsTotal, stopping, judgesStart = false, judgedFirst = null, model } = this.given;
    if (judgedFirst !== null && this.lossBefore === null) {
      return { want: "judge", parameters: judgedFirst, ids: parts.train };
    }
    if (this.isEnough || (stopping !== null && watched.waited >= stopping.patience)) return null;
    const epoch = stepsPerEpoch(parts.train.length, model.batch_size);
    const judged = watched.epochs - Number(judgesStart);
    const isJudged = stopping !== null && judged < Math.ceil(stepsTotal / epoch);
    if (isJudged && stepsDone >= Math.min((judged + 1) * epoch, stepsTotal)) {
      return { want: "judge", parameters: optimisation.parameters(), ids: parts.heldOut };
    }
    return stepsDone >= stepsTotal ? null : { want: "learn", ids: optimisation.batchIds() };
  }

  /**
   * The step that was wanted; `teacher` are a teacher's probabilities [samples of the batch, *output], flattened.
   * Throws CodedError `agent.diverged`, and what the graph throws.
   */
  learn(batch: Batch, teacher: Float32Array | null = null): Promise<void> {
    return this.given.optimisation.step(batch, teacher);
  }

  /** The mean loss of `parameters` on the samples that were named; one that is not finite is never the best. */
  judged(parameters: Tensors, loss: number): void {
    if (this.given.judgedFirst === parameters) {
      this.lossBefore = loss;
      return;
    }
    const { bestLoss, waited } = this.watched;
    const epochs = this.watched.epochs + 1;
    if (Number.isFinite(loss) && (bestLoss === null || loss < bestLoss)) {
      this.watched = { epochs, bestLoss: loss, waited: 0 };
      this.best = encodeTensors(parameters);
    } else {
      this.watched = { epochs, bestLoss, waited: waited + 1 };
    }
  }

  /** End the training after the steps done so far, because no time is left, or because they lead nowhere. */
  enough(): void {
    this.isEnough = true;
  }

  /** The tensors to keep: those of the best epoch, where early stopping judges epochs. */
  trained(): Tensors {
    if (this.best === null) return this.given.optimisation.parameters();
    return decodeFloats(this.best, versionOf(this.model));
  }

  checkpoint(): TrainingCheckpoint {
    const { classes, watched, lossBefore, best } = this;
    return { optimisation: this.given.optimisation.checkpoint(), classes, watched, lossBefore, best };
  }
}
