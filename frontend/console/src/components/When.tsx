import { Text, Tooltip } from "@mantine/core";
import { useTick } from "./tick";

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
  ["week", 4.35],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY],
];
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago or ahead of `now` a moment is: "3 minutes ago". */
export function ago(at: Date, now: Date): string {
  let amount = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of STEPS) {
    // What was a week ahead a moment ago still is.
    if (Math.abs(amount) < size) return WORDS.format(amount > 0 ? Math.round(amount) : Math.trunc(amount), unit);
    amount /= size;
  }
  return "";
}

/** A moment as a distance from now, with the exact time on hover. */
export function When({ at }: { at: string | null | undefined }) {
  useTick();
  if (at === null || at === undefined) return <Text component="span">–</Text>;
  const moment = new Date(at);
  return (
    <Tooltip label={EXACT.format(moment)} openDelay={300}>
      <time dateTime={at} style={{ whiteSpace: "nowrap" }}>
        {ago(moment, new Date())}
      </time>
    </Tooltip>
  );
}
