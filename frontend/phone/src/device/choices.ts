/** What the owner has chosen, and how a change of it is taken in. */
import type { AskPolicy } from "../learning/labelling";
import type { AgreedQuestions } from "../learning/question";
import type { Requirements } from "../wire/messages";
import type { PeersChoices } from "./sharing";

export interface OwnerChoices {
  readonly policy: Requirements;
  /** Until when the owner has paused training, in milliseconds since 1970; 0: not paused. */
  readonly pausedUntil: number;
  /** How much all federations together may learn of the device; left out: as the defaults say. */
  readonly privacy?: PrivacyChoices;
  /** In what the owner lets the device be counted; left out: in nothing. */
  readonly questions?: AgreedQuestions;
  /** How often the owner lets the device ask what a sample shows; left out: as the defaults say. */
  readonly asks?: AskPolicy;
  /** What the device may have to do with others that help each other; left out: as the defaults say. */
  readonly peers?: PeersChoices;
}

export interface PrivacyChoices {
  /** What was told under noise never amounts to more; 0: nothing is told under noise any more. */
  readonly epsilon: number;
  readonly delta: number;
  /** When the platform raises what a federation may tell: go on, within `epsilon`, or ask the owner first. */
  readonly raised: "accept" | "ask";
}

/** One choice: what it does not name stays as it is when the choice arrives, whatever the page showed. */
export interface Changes {
  readonly policy?: Partial<Requirements>;
  readonly pausedUntil?: number;
  readonly privacy?: Partial<PrivacyChoices>;
  readonly questions?: Partial<AgreedQuestions>;
  readonly asks?: Partial<AskPolicy>;
  readonly peers?: Partial<PeersChoices>;
}

/** `known` with `changes`; of what was not chosen before, the rest is as in `otherwise`. */
export function changed(known: OwnerChoices, changes: Changes, otherwise: Required<OwnerChoices>): OwnerChoices {
  const parts = Object.entries(changes).map(([name, change]) => {
    const before = known[name as keyof OwnerChoices] ?? otherwise[name as keyof OwnerChoices];
    return [name, typeof change === "object" ? { ...(before as object), ...change } : change];
  });
  return { ...known, ...Object.fromEntries(parts) };
}
