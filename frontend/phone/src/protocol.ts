/** What a page and the worker that trains say to each other. */
import type { Finished, OwnerChoices, Receipt } from "./device/store";
import type { Conditions, Progress, Reason, Requirements } from "./wire/messages";

/** To the worker that the page started. */
export type Command =
  | { readonly do: "start"; readonly runtime: string; readonly agent: string }
  | { readonly do: "observe"; readonly conditions: Conditions }
  | { readonly do: "join"; readonly token: string; readonly name: string }
  | { readonly do: "add"; readonly name: string; readonly file: Blob }
  | { readonly do: "choose"; readonly choices: OwnerChoices }
  | { readonly do: "delete-samples" }
  | { readonly do: "leave" }
  | { readonly do: "be-forgotten" }
  | { readonly do: "forget" };

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
  readonly samples: number;
  readonly counts: readonly number[];
  readonly finished: readonly Finished[];
  readonly receipts: readonly Receipt[];
  readonly privacy: string | null;
  readonly ending: Reason | null;
}

/** From the worker, to its own page or to all. */
export type News =
  | { readonly news: "standing"; readonly joined: boolean }
  | { readonly news: "elsewhere" }
  | { readonly news: "outcome"; readonly outcome: Outcome }
  | { readonly news: "shown"; readonly shown: Shown };

/** Over which the worker that trains tells all pages of the browser what it does. */
export const CHANNEL = "coterie-device";
/** The Web Lock that the one worker holds that trains. */
export const LOCK = "coterie-trainer";
