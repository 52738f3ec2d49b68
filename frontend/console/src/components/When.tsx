import { Text, Tooltip } from "@mantine/core";
import { LANGUAGE } from "../language/language";
import { EXACT, moment } from "./locale";
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
const WORDS = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto" });

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

/** A moment as a distance from now with the exact time on hover; the other way round for who chose exact times. */
export function When({ at }: { at: string | null | undefined }) {
  useTick();
  if (at === null || at === undefined) return <Text component="span">–</Text>;
  return (
    <Tooltip label={EXACT ? ago(new Date(at), new Date()) : moment(at)} openDelay={300}>
      <time dateTime={at} style={{ whiteSpace: "nowrap" }}>
        {EXACT ? moment(at) : ago(new Date(at), new Date())}
      </time>
    </Tooltip>
  );
}
