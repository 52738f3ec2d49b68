/** What a device tells and asks of others through the platform, so that one helps another: a mirror of `coterie_wire.helping`. */
import type { HelpNews, Reason } from "./messages";

/** Of one profile, the most frequent. */
export const MAX_REPORTED_CLASSES = 256;
/** States in which a request is over. */
export const ENDED: ReadonlySet<HelpNews["state"]> = new Set(["judged", "unmatched", "abandoned"]);

/** A device's latest batches in counts, each batch judged before it was learned from. */
export interface Profile {
  /** Batches judged so far; tells a newer profile from an older one. */
  batch: number;
  /** Classes among the latest batches, ascending. */
  classes: readonly number[];
  /** Samples of each; rounded or all 1 where the owner wants the device to tell less. */
  counts: readonly number[];
  /** How many of each were predicted rightly; null: the owner does not tell, and the device helps nobody. */
  hits: readonly number[] | null;
  /** Whether its own model fails it, so that it should help nobody. */
  drifting: boolean;
  /** Whether its owner lets it help others. */
  willing: boolean;
  /** What classes, counts and hits were noised to; null: they were not. */
  noise: { readonly epsilon: number; readonly delta: number } | null;
}

export interface ReportProfile {
  federation: string;
  profile: Profile;
}

/** The device's model fails on `classes`; asking again with the same `request`, a UUID, changes nothing. */
export interface AskHelp {
  request: string;
  federation: string;
  classes: readonly number[];
  profile: Profile;
}

/** Announce the portion of a transfer, or ask how far its upload came. */
export interface OfferPortion {
  transfer: string;
  sha256: string;
  size_bytes: number;
}

/** The helper will not serve, or the device that asked can no longer use what was served. */
export interface DeclineTransfer {
  transfer: string;
  reason: Reason;
}

/** Whether the device kept what it merged: accuracy on its newest samples, without and with it. */
export interface GiveVerdict {
  transfer: string;
  kept: boolean;
  accuracy_before: number;
  accuracy_after: number;
  samples: number;
}
