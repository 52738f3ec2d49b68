/** What the owner lets the device report about its data, never the data: a mirror of `coterie_agent.sharing`. */
import { rint } from "../learning/noise";
import type { Counts } from "../learning/profile";
import { MAX_REPORTED_CLASSES, type Profile } from "../wire/helping";

/** Counts as they are; to the nearest power of two; only which classes there are; nothing. */
export type Telling = "counts" | "rounded" | "classes" | "nothing";

/** What the owner lets the device have to do with other devices, through the platform. */
export interface PeersChoices {
  /** A device that does not tell how well it knows its classes helps nobody, and one that tells nothing cannot ask. */
  readonly tell: Telling;
  /** Send parts of the device's personal model to devices that ask for help. */
  readonly helpOthers: boolean;
  /** Ask for help when the device's personal model fails. */
  readonly ask: boolean;
}

/** As the agent's settings. */
export const PEERS_DEFAULT: PeersChoices = { tell: "counts", helpOthers: true, ask: true };

/**
 * The profile of the counted samples, as the owner lets it be reported; without classes where nothing is allowed. Of
 * more classes than a profile holds, the most frequent are reported. `noise`: what the counts have.
 */
export function shareProfile(
  { samples, wrong }: Counts,
  tell: Telling,
  { batch, drifting, willing, noise }: Pick<Profile, "batch" | "drifting" | "willing" | "noise">,
): Profile {
  if (tell === "nothing") {
    return { batch, classes: [], counts: [], hits: null, drifting: false, willing: false, noise };
  }
  const found = samples.map((count, label) => ({ label, count, hits: count - (wrong[label] as number) }));
  const frequent = found
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || a.label - b.label)
    .slice(0, MAX_REPORTED_CLASSES)
    .sort((a, b) => a.label - b.label);
  const classes = frequent.map(({ label }) => label);
  const counts = frequent.map(({ count }) => shared(count, tell));
  if (tell === "classes") return { batch, classes, counts, hits: null, drifting, willing: false, noise };
  const hits = frequent.map(({ count, hits: right }, at) => rint((counts[at] as number) * coarse(right / count, tell)));
  return { batch, classes, counts, hits, drifting, willing, noise };
}

function shared(count: number, tell: "counts" | "rounded" | "classes"): number {
  if (tell === "counts") return count;
  return tell === "classes" ? 1 : 2 ** Math.round(Math.log2(count));
}

/** A rounded profile has shares in steps of an eighth. */
const coarse = (share: number, tell: Telling): number => (tell === "rounded" ? rint(share * 8) / 8 : share);
