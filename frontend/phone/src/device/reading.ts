/** How a device reads its samples in batches, in the order in which they came: a mirror of `coterie_agent.peers.reading`. */
import type { HelpRules } from "../learning/help";
import { begunWatch, type Watch } from "../learning/watch";
import type { Reading } from "./kept";

/** Of those that models are compared on where none was evaluated batch by batch, at most. */
const COMPARED = 256;

/** The batches from the oldest of the samples `ids`, ascending, on. */
export function begunReading(ids: readonly number[]): Reading {
  const before = (ids[0] ?? 1) - 1;
  return { judged: before, trained: before, trainedAt: 0, batches: 0, reportedDrifting: null, watch: null };
}

/** The numbers of the next `size` samples behind `after`, up to `upTo`; empty while there are fewer. */
export function nextBatch(ids: readonly number[], after: number, upTo: number, size: number): readonly number[] {
  const found = ids.filter((id) => id > after && id <= upTo).slice(0, size);
  return found.length === size ? found : [];
}

/** The newest sample to train on; where versions come, the newest batch is held out to compare them on. */
export function trainable(ids: readonly number[], { judged }: Reading, sparesNewest: boolean, size: number): number {
  if (!sparesNewest) return judged;
  const [first] = ids.filter((id) => id <= judged).slice(-size);
  return first === undefined ? judged : first - 1;
}

/**
 * The samples to compare models on: of the newest `count` evaluated ones those that the personal model was not trained
 * on, or all of these. Where none was evaluated yet, the newest of all.
 */
export function fairSamples(ids: readonly number[], reading: Reading | null, count: number): readonly number[] {
  if (reading === null) return ids.slice(-COMPARED);
  const newest = ids.filter((id) => id <= reading.judged).slice(-count);
  const untrained = newest.filter((id) => id > reading.trained);
  return untrained.length > 0 ? untrained : newest;
}

/** The stored watch; a new one where there is none, or where it belongs to another model or plan. */
export function watchOf({ watch }: Reading, rules: HelpRules, classes: number): Watch {
  const isSame = watch?.profile.classes === classes && watch.profile.keep === rules.windowBatches;
  return isSame ? watch : begunWatch(rules, classes);
}
