/** What a page and the worker that trains say to each other. */
import type { ToldUnderNoise } from "./device/budget";
import type { Changes, OwnerChoices } from "./device/choices";
import type { Scope } from "./device/consent";
import type { Agreed, Answered, Asked, Damage, Finished, KnownForms, Receipt, Tuned } from "./device/kept";
import type { PeersStatus } from "./device/peers/member";
import type { LabelsShown } from "./device/questions";
import type { Answers } from "./device/sources";
import type { Takes } from "./sources/takes";
import type { Conditions, ForgetNews, Progress, Reason, Requirements } from "./wire/messages";

/** To the worker that the page started. */
export type Command =
  | { readonly do: "start"; readonly runtime: string; readonly agent: string }
  | { readonly do: "observe"; readonly conditions: Conditions }
  | ({ readonly do: "join" } & Joining)
  | { readonly do: "consent"; readonly agreed: Agreeing }
  /** Take a part of it back, or give it again. */
  | { readonly do: "change-consent"; readonly part: string; readonly taken: boolean; readonly read: string }
  | { readonly do: "add"; readonly name: string; readonly file: Blob }
  | { readonly do: "add-windows"; readonly windows: readonly Float32Array[]; readonly label: number }
  | { readonly do: "add-pictures"; readonly files: readonly File[]; readonly label: number | null }
  | { readonly do: "add-text"; readonly text: string }
  | { readonly do: "suggest"; readonly text: string }
  | { readonly do: "export" }
  | { readonly do: "choose"; readonly changes: Changes }
  | { readonly do: "agree"; readonly federation: string }
  | { readonly do: "answer-question"; readonly question: number; readonly label: number | null }
  | { readonly do: "undo-answer" }
  | { readonly do: "snooze-questions"; readonly until: number }
  | { readonly do: "delete-samples" }
  | { readonly do: "leave" }
  | { readonly do: "be-forgotten" }
  | { readonly do: "read-receipt" }
  | { readonly do: "read-damage" }
  | { readonly do: "forget" };

/** How the device is to join: by which token, and with the credential that it has drawn. */
export interface Joining {
  readonly token: string;
  readonly drawn: string;
  readonly name: string;
  readonly agreed: Agreeing;
}

/** What the owner agrees to, and what he has read of it, word by word. */
export interface Agreeing {
  readonly scopes: readonly Scope[];
  readonly read: string;
}

/** What came of a command; a failure has a reason. */
export interface Outcome {
  readonly of: Command["do"];
  readonly problem: Reason | null;
  readonly sentence: string;
}

/** The device as every page of the browser shows it. */
export interface Shown {
  readonly name: string;
  readonly joinedAt: number;
  readonly isOnline: boolean;
  readonly linkProblem: Reason | null;
  readonly conditions: Conditions;
  readonly blockers: readonly Reason[];
  readonly wait: Reason | null;
  readonly progress: Progress | null;
  readonly federation: string | null;
  readonly asked: Requirements | null;
  readonly choices: OwnerChoices;
  /** The editions of what the owner has agreed to, the latest last. */
  readonly agreed: readonly Agreed[];
  /** What a plan asks beyond that; null: nothing. */
  readonly consentAsked: Asked | null;
  /** The federations that the device is in, as the platform said last. */
  readonly federations: readonly string[];
  readonly samples: number;
  /** How many of them are set aside, as the model does not know their label. */
  readonly aside: number;
  readonly counts: readonly number[];
  readonly labels: LabelsShown;
  /** Which data of the phone's own the model takes; null: the device holds none yet. */
  readonly takes: Takes | null;
  /** How quick each form of the version is; null: the platform has no smaller one. */
  readonly forms: KnownForms | null;
  /** How the latest training of a personal model ended; null: there was none. */
  readonly tuned: Tuned | null;
  /** Whether rounds train the personal model, so that updates tell what it learned. */
  readonly sendsOwn: boolean;
  readonly tuning: { readonly done: number; readonly total: number } | null;
  /** What the device does with others that help each other; null: its plan has it do nothing with them. */
  readonly peers: PeersStatus | null;
  readonly finished: readonly Finished[];
  readonly receipts: readonly Receipt[];
  /** How the latest questions to the fleet ended, newest first. */
  readonly answered: readonly Answered[];
  readonly privacy: string | null;
  readonly told: ToldUnderNoise;
  /** What the secure sum waits for that the device takes part in. */
  readonly sumWait: Reason | null;
  /** What the sum waits for that a question is answered in. */
  readonly questionWait: Reason | null;
  /** Why the owner's privacy budget kept the device from a round; null: it does not. */
  readonly budgetWait: Reason | null;
  /** What the disk has damaged, until the owner has read it; the latest first. */
  readonly damage: readonly Damage[];
  readonly ending: Reason | null;
}

/** From the worker, to its own page or to all. */
export type News =
  | {
      readonly news: "standing";
      readonly joined: boolean;
      readonly forgotten: ForgetNews | null;
      readonly damage: readonly Damage[];
    }
  | { readonly news: "forgotten"; readonly forgotten: ForgetNews }
  | { readonly news: "elsewhere" }
  | { readonly news: "outcome"; readonly outcome: Outcome }
  | { readonly news: "answered"; readonly source: "motion" | "pictures"; readonly answers: Answers }
  | { readonly news: "suggested"; readonly text: string; readonly words: readonly string[] }
  | { readonly news: "exported"; readonly document: string }
  | { readonly news: "shown"; readonly shown: Shown };

/** Over which the worker that trains tells all pages of the browser what it does. */
export const CHANNEL = "coterie-device";
/** The Web Lock that the one worker holds that trains. */
export const LOCK = "coterie-trainer";
