import { Text } from "@mantine/core";
import classes from "./State.module.css";

type Tone = "good" | "wait" | "bad" | "quiet";

const TONES: Readonly<Record<string, Tone>> = {
  delivered: "good",
  installed: "good",
  resolved: "good",
  watching: "good",
  done: "good",
  fits: "good",
  kept: "good",
  promoted: "good",
  placed: "good",
  published: "good",
  ready: "good",
  reliable: "good",
  succeeded: "good",
  running: "good",
  training: "good",
  uploading: "good",
  accepted: "wait",
  asked: "wait",
  checking: "wait",
  closing: "wait",
  held: "wait",
  invited: "wait",
  joined: "wait",
  leaving: "wait",
  matched: "wait",
  measuring: "wait",
  merging: "wait",
  offered: "wait",
  open: "wait",
  paused: "wait",
  pending: "wait",
  planned: "wait",
  queued: "wait",
  waiting: "wait",
  abandoned: "bad",
  dropped: "bad",
  failed: "bad",
  firing: "bad",
  lost: "bad",
  quarantined: "bad",
  refused: "bad",
  rejected: "bad",
  too_large: "bad",
  revoked: "bad",
  rolled_back: "bad",
  unreliable: "bad",
};

/** The colour that a state of anything has, in tables, timelines and charts alike. */
export function toneOf(state: string): Tone {
  return TONES[state] ?? "quiet";
}

/** A state as a word with a dot: the colour is never alone. */
export function State({ of }: { of: string }) {
  return (
    <Text component="span" size="sm" className={classes.state} data-tone={toneOf(of)}>
      {of.replaceAll("_", " ")}
    </Text>
  );
}
