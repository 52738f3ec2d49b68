/** What the parts of a running device work with; each takes what it needs of it. */
import type { Budget } from "./budget";
import type { Consent } from "./consent";
import type { HeldModel } from "./held_model";
import type { Link } from "./link";
import type { Questions } from "./questions";
import type { Situation } from "./situation";
import type { Store } from "./store";
import type { Trust } from "./trust";

export interface Parts {
  readonly store: Store;
  readonly link: Link;
  readonly situation: Situation;
  readonly trust: Trust;
  readonly model: HeldModel;
  readonly consent: Consent;
  readonly budget: Budget;
  readonly questions: Questions;
  /** What is known of the samples. */
  readonly held: () => ReturnType<Store["held"]>;
  /** Judge the conditions anew, of which the plan or the model is another now. */
  readonly look: () => Promise<void>;
  /** The longest pause after a failure. */
  readonly longestS: () => number;
}
