/**
 * The training of a personal model: a mirror of `coterie_learning.client.personal` and of `.training` as that uses it.
 *
 * What is held out are always the same samples, on which no round trains either. Sans I/O, as a client's round.
 */

import type { ModelSpec } from "../../wire/bundle";
import { versionOf } from "../../wire/bundle";
import { sha256Hex, utf8 } from "../../wire/bytes";
import { type AnyTensor, decodeFloats, encodeTensors, type Tensors } from "../../wire/tensors";
import type { Batch } from "../batches";
import type { Measured } from "../metrics";
import { type Checkpoint, Optimisation, type RunStep } from "../optimisation";
import { type SampleSplit, split, stepsPerEpoch } from "../order";
import type { PersonalRules } from ".";

export interface GivenPersonal {
  readonly rules: PersonalRules;
  readonly model: ModelSpec;
  /** The tensors of the version. */
  readonly received: Tensors;
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the device's samples, ascending; enough to hold some out. */
  readonly ids: readonly number[];
  readonly seed: number;
}

/** The state of early stopping. */
export interface Watched {
  /** How many were judged, what it starts from among them. */
  readonly epochs: number;
  /** Lowest loss on the samples held out; null before there is one. */
  readonly bestLoss: number | null;
  /** Epochs since it was reached. */
  readonly waited: number;
}

export interface PersonalCheckpoint {
  readonly optimisation: Checkpoint;
  readonly watched: Watched;
  /** The tensors of the best epoch so far, as safetensors. */
  readonly best: Uint8Array | null;
}

/** What the training needs next: a step on some samples, or the mean loss of its parameters on those held out. */
export type Wanted =
  | { readonly want: "learn"; readonly ids: readonly number[] }
  | { readonly want: "judge"; readonly parameters: Tensors; readonly ids: readonly number[] };

export class PersonalTraining {
  readonly parts: SampleSplit;
  readonly stepsTotal: number;
  private readonly epoch: number;
  private readonly optimisation: Optimisation;
  private watched: Watched = { epochs: 0, bestLoss: null, waited: 0 };
  private best: Uint8Array | null = null;
  private isEnough = false;

  /** Throws CodedError `plan.does_not_fit`, or of a damaged checkpoint `tensors.*`. */
  constructor(
    private readonly given: GivenPersonal,
    runStep: RunStep,
    checkpoint: PersonalCheckpoint | null = null,
  ) {
    const { rules, model, received, frozen, ids, seed } = given;
    const { scalars } = rules;
    this.parts = split(ids);
    const { train } = this.parts;
    this.epoch = stepsPerEpoch(train.length, model.batch_size);
    this.stepsTotal = Math.min(rules.epochs * this.epoch, rules.steps ?? Number.POSITIVE_INFINITY);
    const optimised = { model, start: received, anchor: received, frozen, train, scalars, seed };
    this.optimisation = new Optimisation(optimised, runStep);
    if (checkpoint !== null) {
      this.optimisation.restore(checkpoint.optimisation);
      this.watched = checkpoint.watched;
      this.best = checkpoint.best;
    }
  }

  get stepsDone(): number {
    return this.optimisation.stepsDone;
  }

  /** null when training has ended. */
  wanted(): Wanted | null {
    const { stepsDone, stepsTotal, epoch, watched } = this;
    if (this.isEnough || watched.waited >= this.given.rules.patience) return null;
    const judged = watched.epochs - 1; // what it starts from is no epoch
    if (judged < Math.ceil(stepsTotal / epoch) && stepsDone >= Math.min((judged + 1) * epoch, stepsTotal)) {
      return { want: "judge", parameters: this.optimisation.parameters(), ids: this.parts.heldOut };
    }
    return stepsDone >= stepsTotal ? null : { want: "learn", ids: this.optimisation.batchIds() };
  }

  /** Throws CodedError `agent.diverged`, and what the graph throws. */
  learn(batch: Batch): Promise<void> {
    return this.optimisation.step(batch);
  }

  /** The mean loss of `parameters` on the samples held out; one that is not finite is never the best. */
  judged(parameters: Tensors, loss: number): void {
    const { bestLoss, waited } = this.watched;
    const epochs = this.watched.epochs + 1;
    if (Number.isFinite(loss) && (bestLoss === null || loss < bestLoss)) {
      this.watched = { epochs, bestLoss: loss, waited: 0 };
      this.best = encodeTensors(parameters);
    } else {
      this.watched = { epochs, bestLoss, waited: waited + 1 };
    }
  }

  /** End the training after the steps done so far, because they lead nowhere. */
  enough(): void {
    this.isEnough = true;
  }

  /** The tensors of the best epoch, the start among them. */
  trained(): Tensors {
    if (this.best === null) return this.optimisation.parameters();
    return decodeFloats(this.best, versionOf(this.given.model));
  }

  checkpoint(): PersonalCheckpoint {
    return { optimisation: this.optimisation.checkpoint(), watched: this.watched, best: this.best };
  }
}

/**
 * Whether the personal model is to be trained on the samples `ids`, ascending. `trainedUpTo` is the newest sample at the
 * time of the latest training under the same version; null: there was none.
 */
export function isDue(ids: readonly number[], trainedUpTo: number | null, againShare: number): boolean {
  const parts = split(ids);
  if (parts.train === parts.heldOut) return false; // too few to hold some out: nobody could say that it is better
  if (trainedUpTo === null) return true;
  return ids.filter((id) => id > trainedUpTo).length >= againShare * ids.length;
}

/** The seed of the training on the samples up to `newest`: the order in which it takes them. */
export const seedOf = (version: string, newest: number): number =>
  Number.parseInt(sha256Hex(utf8(`${version} ${newest}`)).slice(0, 12), 16);

/** Which model answers from now on: `trained` is what the training has made, `personal model` the one that there was. */
export type Answers = "version" | "trained" | "personal model";

export interface Choice {
  readonly answers: Answers;
  /** Of that one, on the samples held out. */
  readonly chosen: Measured;
}

/**
 * The model that answers, by the figures of each on the same samples held out: the trained one unless it is worse than
 * the version; the one of `before` only where it does better than that by more than noise, or, `unlessWorse`, where that
 * does not do better.
 */
export function choose(version: Measured, trained: Measured, before: Measured | null, unlessWorse: boolean): Choice {
  const made: Choice = isBetter(trained, version)
    ? { answers: "trained", chosen: trained }
    : { answers: "version", chosen: version };
  if (before === null) return made;
  const stays = unlessWorse ? !isClear(made.chosen, before) : isClear(before, made.chosen);
  return stays ? { answers: "personal model", chosen: before } : made;
}

/** Whether the personal model of `before` goes on answering beside a version that has come, until it is trained. */
export const stillAnswers = (before: Measured, version: Measured): boolean => !isBetter(version, before);

/** Of each sample, the more the better. */
const score = ({ losses, right }: Measured): number[] => right ?? losses.map((loss) => -loss);

/** By more that is right, or as much at a lower loss. */
function isBetter(better: Measured, than: Measured): boolean {
  const others = score(than);
  const gain = sum(score(better).map((one, at) => one - (others[at] as number)));
  return gain > 0 || (gain === 0 && sum(better.losses) < sum(than.losses));
}

/** By more than one standard error of the sum of paired differences. */
function isClear(better: Measured, than: Measured): boolean {
  const others = score(than);
  const difference = score(better).map((one, at) => one - (others[at] as number));
  return sum(difference) > Math.sqrt(sum(difference.map((one) => one * one)));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
