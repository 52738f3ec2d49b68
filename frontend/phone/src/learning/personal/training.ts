/**
 * The training of a personal model: a mirror of `coterie_learning.client.personal`.
 *
 * What is held out are always the same samples, on which no round trains either. Sans I/O, as a client's round.
 */
import type { ModelSpec } from "../../wire/bundle";
import { sha256Hex, utf8 } from "../../wire/bytes";
import type { AnyTensor, Tensors } from "../../wire/tensors";
import type { Measured } from "../metrics";
import { Optimisation, type RunStep } from "../optimisation";
import { split, stepsPerEpoch } from "../order";
import { Training, type TrainingCheckpoint } from "../training";
import type { PersonalRules } from ".";

export interface GivenPersonal {
  readonly rules: PersonalRules;
  readonly model: ModelSpec;
  /** The tensors of the version. */
  readonly received: Tensors;
  /** Those of the personal model; null: there is none. */
  readonly personal: Tensors | null;
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the device's samples, ascending; enough to hold some out. */
  readonly ids: readonly number[];
  readonly seed: number;
}

/**
 * Training of the personal model, whose result is the best epoch on the samples held out, the start among them.
 * Throws CodedError `plan.does_not_fit`, or of a damaged checkpoint `tensors.*`.
 */
export function personalTraining(
  { rules, model, received, personal, frozen, ids, seed }: GivenPersonal,
  runStep: RunStep,
  checkpoint: TrainingCheckpoint | null = null,
): Training {
  const { scalars, patience } = rules;
  const parts = split(ids);
  const { train } = parts;
  const ofEpochs = rules.epochs * stepsPerEpoch(train.length, model.batch_size);
  const stepsTotal = Math.min(ofEpochs, rules.steps ?? Number.POSITIVE_INFINITY);
  const start = (rules.startsFrom === "personal model" ? personal : null) ?? received;
  const optimised = { model, start, anchor: received, frozen, train, scalars, seed };
  const optimisation = new Optimisation(optimised, runStep);
  const given = { model, optimisation, parts, stepsTotal, stopping: { patience }, judgesStart: true };
  return new Training(given, checkpoint);
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
