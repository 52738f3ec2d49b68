/** What the browser keeps of the device, row by row. */
import type { Sample } from "../learning/batches";
import type { Labelling } from "../learning/labelling";
import type { KeptPortion } from "../learning/portions/payload";
import type { PartyState } from "../learning/secure_sum/party";
import type { TrainingCheckpoint } from "../learning/training";
import type { Watch } from "../learning/watch";
import type { BlobRef } from "../wire/bundle";
import type { AskHelp, GiveVerdict, OfferPortion } from "../wire/helping";
import type { Counts } from "../wire/latency";
import type {
  Assignment,
  ForgetNews,
  OfferUpdate,
  PrivacyBudget,
  Reason,
  SignedManifest,
  StandingPlan,
} from "../wire/messages";
import type { PlatformKeys } from "../wire/platform_keys";
import type { LogEntry, OfferMasked } from "../wire/secure_sum";
import type { OwnerChoices } from "./choices";
import type { Scope } from "./consent";

export interface Identity {
  readonly device: string;
  readonly name: string;
  readonly credential: string;
  readonly platformKeys: PlatformKeys;
  readonly joinedAt: number;
}

/** The state of an assignment's training between two steps. */
export interface Saved {
  /** The samples from the first to the last number are trained on. */
  readonly first: number;
  readonly last: number;
  readonly lossBefore: number;
  readonly accuracyBefore: number | null;
  readonly measureS: number;
  readonly trainS: number;
  readonly client: TrainingCheckpoint | null;
}

export interface Spooled {
  readonly offer: OfferUpdate;
  readonly payload: Uint8Array;
  /** What the codec lost, which replaces the federation's state once the platform has accepted the update. */
  readonly state: Uint8Array;
  /** What the kind of local training remembers from then on; left out: nothing. */
  readonly remembered?: Uint8Array;
  /** What hides the update, for the owner. */
  readonly privacy: string;
}

/** What follows from the latest accepted update of a federation. */
export interface KeptState {
  /** What the codec lost. */
  readonly value: Uint8Array;
  /** What the kind of local training remembers; left out: nothing. */
  readonly remembered?: Uint8Array;
}

export interface Finished {
  readonly assignment: string;
  readonly federation: string;
  readonly round: number;
  readonly at: number;
  readonly outcome: "accepted" | "dropped" | "released";
  readonly sentence: string;
  /** The kind of the plan that covered the update; left out: it was kept before this was noted. */
  readonly privacy?: string;
}

/** A release under noise that the device has a part in, as its own account has it. */
export interface Told {
  readonly release: string;
  readonly federation: string;
  /** Of the Gaussian mechanism that it costs as much as, the inverse noise multiplier squared. */
  readonly mu2: number;
  readonly at: number;
}

/** The device's part in a sum whose noise depends on the sums before. */
export interface StreamPart {
  readonly assignment: string;
  readonly federation: string;
  /** How far apart two parts of the device are at least; with the federation it names the stream. */
  readonly apart: number;
  /** How many sums of the stream were released before. */
  readonly number: number;
}

/** What a federation may tell of the device: as its owner agreed, and as the owner is to agree. */
export interface Promised {
  readonly federation: string;
  readonly agreed: PrivacyBudget;
  /** null: nothing is asked. */
  readonly asked: PrivacyBudget | null;
}

/** An edition of what the owner has agreed to. */
export interface Agreed {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** All that holds from then on. */
  readonly scopes: readonly Scope[];
  /** What the owner had read, word by word. */
  readonly read: string;
  /** What the owner has taken back, although it is in `scopes`; left out: nothing. */
  readonly withdrawn?: readonly string[];
}

/** What a federation's plan asks beyond what the owner has agreed to. */
export interface Asked {
  readonly federation: string;
  readonly scopes: readonly Scope[];
}

/** How a question to the fleet ended for the device. */
export interface Answered {
  /** What its part in the sum was known by. */
  readonly answer: string;
  /** `answered`: it is in the sum; `declined`: nothing was sent of what it counted; `uncounted`: the sum went on without it. */
  readonly outcome: "answered" | "declined" | "uncounted";
  readonly sentence: string;
  readonly federation: string;
  readonly question: unknown;
  readonly at: number;
}

/** How far the device is in a secure sum. */
export interface SumState {
  readonly assignment: string;
  readonly state: PartyState;
  /** Of its masked vector, once there is one: there will be no other. */
  readonly offer: OfferMasked | null;
}

/** An entry of the log of identities as far as the device has read it; none is ever changed. */
export interface Logged extends LogEntry {
  /** From 1 on. */
  readonly position: number;
  /** Of the log that ends with it. */
  readonly head: Uint8Array;
}

/** How far the device has ever read the log of identities, and the head of that. */
export interface LogEnd {
  readonly length: number;
  readonly head: Uint8Array;
}

/** Something that left the device. */
export interface Receipt {
  readonly id?: number;
  readonly at: number;
  readonly what: string;
  readonly bytes: number;
  /** The literal text of a message; null for an update's bytes. */
  readonly body: string | null;
}

/** A training of the personal model that was begun. */
export interface Tuning {
  /** Of the plan that it follows. */
  readonly digest: string;
  /** The version that it began with. */
  readonly version: string;
  /** SHA-256 of the train step graph: it goes on under later versions of the same pair. */
  readonly trainStep: string;
  /** The samples from the first to the last number are trained on. */
  readonly first: number;
  readonly last: number;
  readonly client: TrainingCheckpoint;
}

/** How the latest training of the personal model ended. */
export interface Tuned {
  readonly digest: string;
  readonly federation: string;
  /** The version that it began with. */
  readonly version: string;
  readonly trainedUpTo: number;
  readonly comparedWith: string;
  /** Whether the personal model answers, or the version. */
  readonly answers: boolean;
  /** Samples held out, on which both were compared. */
  readonly samples: number;
  /** Shares that are right; null: the task has no right and wrong. */
  readonly versionAccuracy: number | null;
  readonly ownAccuracy: number | null;
  readonly reported: boolean;
}

/** The personal model, which answers instead of the version. */
export interface OwnModel {
  /** The version that it came from. */
  readonly base: string;
  readonly federation: string;
  /** The tensors of a version, as safetensors. */
  readonly tensors: Uint8Array;
}

/** A sample whose label nobody has said. */
export interface Unlabelled {
  readonly id: number;
  readonly x: Float32Array;
  /** Left out: it came before this was noted. */
  readonly source?: Source;
}

/** Where a sample came from. */
export type Source = "motion" | "words" | "pictures" | "files";

/** A sample as the browser keeps it. */
export interface Kept extends Sample {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  /** The owner said the label when asked. */
  readonly asked?: true;
  /** The page saw the label happen, as the next word that was typed; with neither the label came with the sample. */
  readonly implied?: true;
  /** Left out: it came before this was noted. */
  readonly source?: Source;
}

/** What the cloud model says of a sample. */
export interface Taught {
  readonly sample: number;
  /** Of the cloud model. */
  readonly version: string;
  /** Of each class, the bits of a float16. */
  readonly probabilities: Uint16Array;
}

/** Something that the disk has damaged, and what became of it. */
export interface Damage {
  readonly sentence: string;
  readonly count: number;
  /** When it was noticed last, in milliseconds since 1970. */
  readonly at: number;
}

/** How far the device has read its samples, in the order in which they came. */
export interface Reading {
  /** Number of the newest sample that the personal model was evaluated on. */
  readonly judged: number;
  /** Number of the newest sample that the personal model was trained on between rounds. */
  readonly trained: number;
  /** When that was, in milliseconds since 1970. */
  readonly trainedAt: number;
  /** Batches that the personal model was evaluated on. */
  readonly batches: number;
  /** Whether the personal model has begun to fail, as last reported to the platform; null: not reported. */
  readonly reportedDrifting: boolean | null;
  /** null: no batch was evaluated yet. */
  readonly watch: Watch | null;
}

/** A portion on its way to another device, so that its bytes stay the same however often the upload is interrupted. */
export interface Serving {
  readonly offer: OfferPortion;
  readonly payload: Uint8Array;
}

/** A portion of another device's model that was kept. */
export interface OwnPortion extends KeptPortion {
  /** The assignment that was being trained then, whose update does not begin with it; left out: none was. */
  readonly during?: string;
}

/** How a request for help or a transfer ended on this device. */
export interface Helped {
  /** Of the request or of the transfer. */
  readonly name: string;
  readonly outcome: "kept" | "undone" | "unanswered" | "withdrawn" | "served" | "declined";
  readonly sentence: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The kind of the plan that covered what left the device; left out: no part of its model did. */
  readonly privacy?: string;
}

/** The latest help request, which the platform ended without a portion. */
export interface Unanswered {
  readonly classes: readonly number[];
  readonly reason: Reason;
}

/** What is known of the smaller forms of a version, and which form predicts. */
export interface KnownForms {
  readonly version: string;
  /** Of the list that names them. */
  readonly digest: string;
  /** How long runs took, by form, the most accurate first; `float32` is the version itself. */
  readonly forms: Readonly<Record<string, Counts>>;
  /** Why a form does not run here. */
  readonly refused: Readonly<Record<string, string>>;
  readonly chosen: string;
  /** Of the chosen form; null: the version itself predicts. */
  readonly graph: BlobRef | null;
}

/** What there is one of, by its name. */
export interface Values {
  identity: Identity;
  owner: OwnerChoices;
  /** Edition by edition, the latest last. */
  agreed: readonly Agreed[];
  consentAsked: Asked;
  assignment: Assignment;
  saved: Saved;
  spooled: Spooled;
  /** The secret half of the key by which the device is known in secure sums. */
  signing: Uint8Array;
  /** More than is kept of the log where damaged entries were removed: what is read again must end so. */
  logEnd: LogEnd;
  sum: SumState;
  masked: Uint8Array;
  /** The same of the question that is being answered. */
  questionSum: SumState;
  questionMasked: Uint8Array;
  /** Whether the latest assignment that was accepted hides in a sum what the device measures. */
  isMasked: boolean;
  model: SignedManifest;
  forms: KnownForms;
  train_step_s: number;
  upload_s: number;
  /** The number under which the owner has the device forgotten. */
  receipt: string;
  /** What became of that, as the platform said last. */
  forgotten: ForgetNews;
  labelling: Labelling;
  standing: StandingPlan;
  tuning: Tuning;
  tuned: Tuned;
  own: OwnModel;
  reading: Reading;
  /** The open help request. */
  asked: AskHelp;
  /** On a portion, until the platform knows it. */
  verdict: GiveVerdict;
  serving: Serving;
  /** Portions that were kept since the last accepted update, which the next one starts from, oldest first. */
  portions: readonly OwnPortion[];
  /** How the latest requests and transfers ended, newest first. */
  helped: readonly Helped[];
  unanswered: Unanswered;
  /** What the disk has damaged, until the owner has read it. */
  damage: readonly Damage[];
}
