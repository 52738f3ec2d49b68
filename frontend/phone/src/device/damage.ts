/** What becomes of what the disk has damaged, and what its owner is told: as the agent's stores have it. */
import { NOTHING_ASKED } from "../learning/labelling";
import type { Damage, Values } from "./kept";
import { OWNER_DEFAULT } from "./policy";

const DAY_S = 86_400;
const DAMAGES_KEPT = 50;

interface Loss<T> {
  readonly sentence: string;
  /** Under which it is refused, and stays: it is made only once. Left out: it is removed. */
  readonly code?: string;
  /** What takes its place. */
  readonly instead?: () => T;
  /** What goes with it. */
  readonly also?: readonly (keyof Values)[];
}

const SUM = {
  code: "agent.sum_damaged",
  sentence: "what the device remembers of the secure sum was damaged on the disk, and is made only once",
};
const VECTOR = {
  code: "agent.sum_damaged",
  sentence: "the masked vector was damaged on the disk, and is made only once",
};
const SPEED = { sentence: "how quick this device is was damaged on the disk; it is measured again" };

export const LOSSES: { readonly [Name in keyof Values]: Loss<Values[Name]> } = {
  identity: { sentence: "who this device is was damaged on the disk: join again; its samples are still here" },
  owner: {
    sentence: "what you have chosen was damaged on the disk; the device rests until you let it go on: look it over",
    instead: () => ({ policy: OWNER_DEFAULT, pausedUntil: Number.MAX_SAFE_INTEGER }),
  },
  agreed: { sentence: "what you have agreed to was damaged on the disk; you are asked again" },
  consentAsked: { sentence: "what you are to be asked was damaged on the disk; the next round asks it again" },
  assignment: {
    sentence: "the assignment was damaged on the disk; it begins anew",
    also: ["saved", "spooled"],
  },
  saved: { sentence: "the checkpoint was damaged on the disk; training begins anew" },
  spooled: { sentence: "the update was damaged on the disk before it was sent; the device trains again" },
  signing: {
    code: "agent.no_identity_key",
    sentence:
      "the key by which others know this device was damaged on the disk; " +
      "leave and join again, as a device that others do not know yet",
  },
  logEnd: {
    code: "agent.log_damaged",
    sentence:
      "the end of the log of identities was damaged on the disk, so nothing tells whether the platform still has the " +
      "same; leave and join again",
  },
  sum: SUM,
  masked: VECTOR,
  questionSum: SUM,
  questionMasked: VECTOR,
  isMasked: {
    sentence:
      "whether the latest plan hides what this device measures was damaged on the disk; nothing of it is told until the next",
    instead: () => true,
  },
  model: { sentence: "the manifest of the model was damaged on the disk; it is fetched again" },
  forms: { sentence: "how quick the forms of the model are was damaged on the disk; they are measured again" },
  train_step_s: SPEED,
  upload_s: SPEED,
  receipt: { sentence: "the number under which this device is to be forgotten was damaged on the disk; ask again" },
  forgotten: {
    sentence:
      "the receipt of the device that was forgotten was damaged on the disk; whoever has its number may still ask",
  },
  labelling: {
    sentence: "what you were asked was damaged on the disk; nothing is asked for a day",
    instead: () => ({ ...NOTHING_ASKED, snoozed_until: Date.now() / 1000 + DAY_S }),
  },
  standing: { sentence: "the plan between rounds was damaged on the disk; the platform sends it again" },
  tuning: { sentence: "the training of the personal model was damaged on the disk; it begins anew" },
  tuned: { sentence: "the figures of the personal model were damaged on the disk; it is trained again" },
  own: { sentence: "the personal model was damaged on the disk; the version answers" },
  reading: { sentence: "how far the device has looked at its samples was damaged on the disk; it begins anew" },
  asked: {
    sentence: "the request for help was damaged on the disk; the device asks anew where it needs help",
    also: ["verdict"],
  },
  verdict: { sentence: "how a portion did was damaged on the disk; it is tried again" },
  serving: { sentence: "the portion for another device was damaged on the disk; it is made again" },
  portions: { sentence: "the portions of others were damaged on the disk; the next update begins without them" },
  helped: { sentence: "how help ended was damaged on the disk, and is not shown any more" },
  unanswered: { sentence: "why nobody helped was damaged on the disk, and is not shown any more" },
  damage: { sentence: "what was noted of damage before was damaged on the disk, too" },
};

/** Of rows that there are many of, what is said of one. */
export const ROW_LOSSES = {
  samples: "a sample was damaged on the disk, and removed",
  unlabelled: "a sample without a label was damaged on the disk, and removed",
  states: "what the last update left over was damaged on the disk, and is not sent with the next",
  finished: "how a round ended was damaged on the disk, and is not shown any more",
  answered: "how a question ended was damaged on the disk, and is not shown any more",
  receipts: "an entry of what left this device was damaged on the disk, and is not shown any more",
  told: "the account of what was told under noise was damaged on the disk: nothing more is told",
  parts: "the device's part in an earlier sum was damaged on the disk; the platform sees to it that parts are apart",
  promises: "what a federation may tell of the device was damaged on the disk, and is asked anew",
  identity_log: "the log of identities was damaged on the disk; it is read again",
  taught: "what the cloud model says of a sample was damaged on the disk; it is asked again",
  blobs: "a part of the model was damaged on the disk; it is fetched again",
} as const;

/** `known` with `count` more of what `sentence` says. */
export function noted(known: readonly Damage[], sentence: string, count: number, at: number): Damage[] {
  const before = known.find((one) => one.sentence === sentence)?.count ?? 0;
  const others = known.filter((one) => one.sentence !== sentence);
  return [{ sentence, count: before + count, at }, ...others].slice(0, DAMAGES_KEPT);
}
