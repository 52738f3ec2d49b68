import { Text } from "@mantine/core";
import { t } from "../language/t";
import classes from "./State.module.css";

type Tone = "good" | "wait" | "bad" | "quiet";

/** The colour and the word of each state that the platform knows. */
const STATES: Readonly<Record<string, readonly [tone: Tone, word: string]>> = {
  delivered: ["good", t`delivered`],
  installed: ["good", t`installed`],
  resolved: ["good", t`resolved`],
  watching: ["good", t`watching`],
  done: ["good", t`done`],
  fits: ["good", t`fits`],
  kept: ["good", t`kept`],
  promoted: ["good", t`promoted`],
  placed: ["good", t`placed`],
  published: ["good", t`published`],
  ready: ["good", t`ready`],
  reliable: ["good", t`reliable`],
  succeeded: ["good", t`succeeded`],
  running: ["good", t`running`],
  training: ["good", t`training`],
  uploading: ["good", t`uploading`],
  accepted: ["wait", t`accepted`],
  allowed: ["wait", t`allowed`],
  asked: ["wait", t`asked`],
  checking: ["wait", t`checking`],
  closing: ["wait", t`closing`],
  held: ["wait", t`held`],
  invited: ["wait", t`invited`],
  joined: ["wait", t`joined`],
  leaving: ["wait", t`leaving`],
  matched: ["wait", t`matched`],
  measuring: ["wait", t`measuring`],
  merging: ["wait", t`merging`],
  offered: ["wait", t`offered`],
  open: ["wait", t`open`],
  paused: ["wait", t`paused`],
  pending: ["wait", t`pending`],
  planned: ["wait", t`planned`],
  queued: ["wait", t`queued`],
  waiting: ["wait", t`waiting`],
  test: ["quiet", t`test`],
  abandoned: ["bad", t`abandoned`],
  dropped: ["bad", t`dropped`],
  failed: ["bad", t`failed`],
  firing: ["bad", t`firing`],
  lost: ["bad", t`lost`],
  quarantined: ["bad", t`quarantined`],
  refused: ["bad", t`refused`],
  rejected: ["bad", t`rejected`],
  too_large: ["bad", t`too large`],
  revoked: ["bad", t`revoked`],
  rolled_back: ["bad", t`rolled back`],
  suspected: ["bad", t`suspected`],
  unreliable: ["bad", t`unreliable`],
  draft: ["quiet", t`draft`],
  finished: ["quiet", t`finished`],
  cancelled: ["quiet", t`cancelled`],
  released: ["quiet", t`released`],
  enrolled: ["quiet", t`enrolled`],
  left: ["quiet", t`left`],
  ended: ["quiet", t`ended`],
  none: ["quiet", t`none`],
  void: ["quiet", t`void`],
  returned: ["quiet", t`returned`],
  stopped: ["quiet", t`stopped`],
  unmatched: ["quiet", t`unmatched`],
  "used up": ["quiet", t`used up`],
  withdrawn: ["quiet", t`withdrawn`],
  summing: ["quiet", t`summing`],
  answered: ["quiet", t`answered`],
  repeating: ["quiet", t`repeating`],
  retiring: ["quiet", t`retiring`],
  working: ["quiet", t`working`],
  judged: ["quiet", t`judged`],
  requested: ["quiet", t`requested`],
  merged: ["quiet", t`merged`],
  undone: ["quiet", t`undone`],
  declined: ["quiet", t`declined`],
  expired: ["quiet", t`expired`],
  absent: ["quiet", t`absent`],
  never_seen: ["quiet", t`never seen`],
  pinned: ["quiet", t`pinned`],
};

/** The colour that a state of anything has, in tables, timelines and charts alike. */
export function toneOf(state: string): Tone {
  return STATES[state]?.[0] ?? "quiet";
}

/** The word for a state; what is no state of the platform's is a word already. */
export function wordOf(state: string): string {
  return STATES[state]?.[1] ?? state;
}

/** States as a field offers them, each by its word. */
export function choicesOf<S extends string>(states: readonly S[]): { value: S; label: string }[] {
  return states.map((value) => ({ value, label: wordOf(value) }));
}

/** A state as a word with a dot: the colour is never alone. */
export function State({ of }: { of: string }) {
  return (
    <Text component="span" size="sm" className={classes.state} data-tone={toneOf(of)}>
      {wordOf(of)}
    </Text>
  );
}
