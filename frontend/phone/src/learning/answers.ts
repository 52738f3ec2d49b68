/** From what one device counted to the vector that is summed under masks: a mirror of `coterie_learning.answers`. */
import { CodedError } from "../wire/errors";
import { wholeNoise } from "./noise";
import type { Question } from "./question";
import { honestOf } from "./secure_sum/graph";
import { LEAST_DEVIATION } from "./secure_sum/grid";
import type { Vector } from "./secure_sum/vector";

const BITS = 32;
/** Standard deviations of the noise on a cell for which there is room. */
const FURTHEST = 10;

/** What one count is in whole numbers, and the standard deviation of the noise that one device adds, in these. */
export interface Scale {
  readonly unit: number;
  readonly deviation: number;
}

/** The same for all devices of a sum of so many `members`. Throws CodedError `secure_sum.too_few`. */
export function scaleOf(question: Question, members: number): Scale {
  const { noiseMultiplier, sensitivity, terms } = question;
  if (noiseMultiplier === null) return { unit: 1, deviation: 0 };
  const share = (noiseMultiplier * sensitivity) / Math.sqrt(honestOf(terms, members));
  const unit = Math.max(1, Math.ceil(LEAST_DEVIATION / share));
  return { unit, deviation: share * unit };
}

/**
 * What a device that has these `counts` adds to the sum; noise is drawn from `key`, which never leaves the device.
 * Throws CodedError `update.out_of_range` where it counts more than the question takes of one device, or `secure_sum.*`.
 */
export function answerOf(question: Question, members: number, counts: readonly number[], key: bigint): Vector {
  const scale = scaleOf(question, members);
  checkRoom(question, members, scale);
  const isWhole = counts.every((count) => Number.isInteger(count) && count >= 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (counts.length !== question.cells || !isWhole || total > question.sensitivity) {
    throw new CodedError("update.out_of_range", "the device counts more than the question takes of one");
  }
  const length = question.cells + (question.cells % 2);
  const noise = question.noiseMultiplier === null ? null : wholeNoise(scale.deviation, key, "answer", length);
  const levels = Array.from({ length }, (_, at) => (counts[at] ?? 0) * scale.unit + (noise?.[at] ?? 0));
  return { bits: BITS, numbers: Uint32Array.from(levels, (level) => level >>> 0), tail: BigUint64Array.of(1n) };
}

function checkRoom({ sensitivity }: Question, members: number, { unit, deviation }: Scale): void {
  const largest = members * sensitivity * unit + Math.ceil(FURTHEST * Math.sqrt(members) * (deviation + 1));
  if (largest >= 2 ** (BITS - 1)) {
    throw new CodedError("secure_sum.too_few_bits", `${members} answers may add up to more than ${BITS} bits`);
  }
}
