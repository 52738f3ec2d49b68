/**
 * Which sample a device asks its owner to label, and when: a mirror of `coterie_learning.labelling`, pure like it. The
 * device keeps a `Labelling`, and replaces it by what a function here returns.
 */
import { isWithin } from "../wire/hours";

export type How = "margin" | "entropy";

export interface AskPolicy {
  /** Questions a day at most; 0: none. */
  readonly per_day: number;
  readonly how: How;
  /** Local hours [from, to) without questions; from > to spans midnight, and from an hour to itself there are none. */
  readonly quiet: readonly [number, number];
}

export const ASK_POLICY: AskPolicy = { per_day: 3, how: "margin", quiet: [21, 8] };

/** What a device remembers of its questions. */
export interface Labelling {
  /** Number of the sample that its owner is being asked about. */
  readonly open: number | null;
  /** The question that an undone one has taken the place of; it is next, and does not count again. */
  readonly then: number | null;
  /** The owner's day of the newest question, in days from any day on. */
  readonly day: number;
  readonly asked_today: number;
  /** Unix time in seconds before which it asks nothing new. */
  readonly snoozed_until: number;
  /** Number of the sample that the newest answer made, which can still be undone. */
  readonly last: number | null;
  readonly asked: number;
  readonly answered: number;
  readonly skipped: number;
}

export const NOTHING_ASKED: Labelling = {
  open: null,
  // biome-ignore lint/suspicious/noThenProperty: the name that Python's has; it is no function, so nothing awaits it
  then: null,
  day: 0,
  asked_today: 0,
  snoozed_until: 0,
  last: null,
  asked: 0,
  answered: 0,
  skipped: 0,
};

/** New questions that the device may ask now; a clock that is set back by a day gives no second budget. */
export function questionsLeft(
  state: Labelling,
  { per_day, quiet }: AskPolicy,
  { now, day, hour }: { readonly now: number; readonly day: number; readonly hour: number },
): number {
  if (now < state.snoozed_until || (quiet[0] !== quiet[1] && isWithin(quiet, hour))) return 0;
  return Math.max(0, per_day - (isSameDay(state, day) ? state.asked_today : 0));
}

/** The owner is asked about `sample`. */
export function ask(state: Labelling, sample: number, day: number): Labelling {
  const same = isSameDay(state, day);
  return {
    ...state,
    open: sample,
    day: same ? state.day : day,
    asked_today: same ? state.asked_today + 1 : 1,
    asked: state.asked + 1,
  };
}

/** The owner has said the class, which made the labelled sample numbered `made`. */
export const answer = (state: Labelling, made: number): Labelling => ({
  ...next(state),
  last: made,
  answered: state.answered + 1,
});

/** The owner does not know, or does not want to say. */
export const skip = (state: Labelling): Labelling => ({ ...next(state), skipped: state.skipped + 1 });

/** The newest answer was a slip: its question is open again, about `sample`. */
export const undo = (state: Labelling, sample: number): Labelling =>
  // biome-ignore lint/suspicious/noThenProperty: as above
  ({ ...state, open: sample, then: state.open, last: null, answered: state.answered - 1 });

/** Ask nothing new before the Unix time `until`. */
export const snooze = (state: Labelling, until: number): Labelling => ({ ...state, snoozed_until: until });

/**
 * Which of the samples `numbers` a model whose outputs are `logits`, one row each, is least certain of; of several the
 * newest, which has the greatest number. There must be one.
 */
export function mostUncertain(numbers: readonly number[], logits: readonly (readonly number[])[], how: How): number {
  let [least, chosen] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [row, number] of numbers.entries()) {
    const certainty = certaintyOf(logits[row] as readonly number[], how);
    if (certainty < least || (certainty === least && number > chosen)) [least, chosen] = [certainty, number];
  }
  return chosen;
}

function certaintyOf(logits: readonly number[], how: How): number {
  const most = Math.max(...logits);
  const shifted = logits.map((logit) => logit - most);
  const total = Math.log(shifted.reduce((sum, one) => sum + Math.exp(one), 0));
  const logs = shifted.map((one) => one - total);
  const found = how === "margin" ? margin(logs.map(Math.exp)) : minusEntropy(logs);
  // Runtimes differ in the last bits of an exponential. What is not finite counts as uncertain.
  return Number.isFinite(found) ? Math.round(found * 1e9) : Number.NEGATIVE_INFINITY;
}

function margin(probabilities: readonly number[]): number {
  const [first = 0, second = 0] = [...probabilities].sort((a, b) => b - a);
  return first - second;
}

function minusEntropy(logs: readonly number[]): number {
  return logs.reduce((sum, log) => {
    const probability = Math.exp(log);
    return sum + (probability === 0 ? 0 : probability * log);
  }, 0);
}

// biome-ignore lint/suspicious/noThenProperty: as above
const next = (state: Labelling): Labelling => ({ ...state, open: state.then, then: null });

const isSameDay = (state: Labelling, day: number): boolean => state.day - day >= 0 && state.day - day <= 1;
