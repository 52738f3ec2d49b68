import { Text, Tooltip } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { useState } from "react";

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
  ["week", 4.35],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY],
];
const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago or ahead of `now` a moment is: "3 minutes ago". */
export function ago(at: Date, now: Date): string {
  let amount = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(amount) < size) return WORDS.format(Math.trunc(amount), unit);
    amount /= size;
  }
  return "";
}

/** A moment as a distance from now, with the exact time on hover. */
export function When({ at }: { at: string | null | undefined }) {
  const [now, setNow] = useState(() => new Date());
  useInterval(() => setNow(new Date()), 10_000, { autoInvoke: true });
  if (at === null || at === undefined) return <Text component="span">–</Text>;
  const moment = new Date(at);
  return (
    <Tooltip label={moment.toLocaleString()} openDelay={300}>
      <time dateTime={at} style={{ whiteSpace: "nowrap" }}>
        {ago(moment, now)}
      </time>
    </Tooltip>
  );
}
