/** What the device does next, a pure function of what is known: a mirror of `coterie_agent.decide`. */
import type { Assignment, Reason, SignedManifest } from "../wire/messages";
import { blocksNetwork } from "./policy";

export interface Facts {
  /** The assignment that the device has accepted and not finished. */
  readonly inHand: Assignment | null;
  /** Its update is ready to be uploaded. */
  readonly spooled: boolean;
  /** The platform has answered since the page was opened; before, the device keeps its assignment. */
  readonly answered: boolean;
  /** The assignment that the platform says is the device's, unless the device has finished it. */
  readonly assigned: Assignment | null;
  /** One that the device has finished, and that the platform goes on naming: it has forgotten how that ended. */
  readonly stillNamed: Assignment | null;
  /** A version that the device should hold and does not. */
  readonly champion: SignedManifest | null;
  /** Smaller forms of the version that it holds, which it does not know. */
  readonly forms: SignedManifest | null;
  readonly blockers: readonly Reason[];
  /**
   * What is due between rounds: to train the personal model to its end, or to tell how that ended; or, where it learns
   * batch by batch, the next of these, or something to tell the platform or another device. The last is due while a round
   * is in hand, too: training then waits for a moment.
   */
  readonly between: "personalise" | "tell-personal" | "learn-alone" | "tell-peers" | null;
}

export type Action =
  | { readonly do: "rest" }
  | { readonly do: "accept" | "train" | "upload" | "drop" | "give-back"; readonly assignment: Assignment }
  | { readonly do: "fetch"; readonly champion: SignedManifest }
  | { readonly do: "take-forms"; readonly forms: SignedManifest }
  | { readonly do: "personalise" }
  | { readonly do: "tell-personal" }
  | { readonly do: "learn-alone" }
  | { readonly do: "tell-peers" };

/**
 * A spooled update is offered even when its assignment is no longer named: the platform stops naming it once it has
 * accepted the update, so only the answer to the offer tells whether it was accepted.
 */
export function decide(facts: Facts): Action {
  const { inHand, spooled, answered, assigned, stillNamed, champion, forms, blockers, between } = facts;
  const offline = blocksNetwork(blockers);
  if (inHand !== null) {
    if (spooled) return offline ? { do: "rest" } : { do: "upload", assignment: inHand };
    if (answered && assigned?.assignment !== inHand.assignment) return { do: "drop", assignment: inHand };
    if (between === "tell-peers" && !offline) return { do: between };
    return blockers.length > 0 ? { do: "rest" } : { do: "train", assignment: inHand };
  }
  if (assigned !== null) return { do: "accept", assignment: assigned };
  if (stillNamed !== null) return { do: "give-back", assignment: stillNamed };
  if (champion !== null && !offline) return { do: "fetch", champion };
  if (forms !== null && !offline) return { do: "take-forms", forms };
  if (between === null) return { do: "rest" };
  const isHeldBack = between === "tell-personal" || between === "tell-peers" ? offline : blockers.length > 0;
  return isHeldBack ? { do: "rest" } : { do: between };
}
