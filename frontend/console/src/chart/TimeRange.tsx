import { Button, Group } from "@mantine/core";
import { useContext } from "react";
import { PageTime } from "./timespan";
import { useWatched } from "./watched";

const DAY_S = 86_400;
const LENGTHS = [
  { words: "Last day", seconds: DAY_S },
  { words: "7 days", seconds: 7 * DAY_S },
  { words: "30 days", seconds: 30 * DAY_S },
] as const;

/** How much of the page's time its charts show; those lengths that there are. Nothing where there is one alone. */
export function TimeRange() {
  const time = useContext(PageTime);
  const whole = useWatched(time.whole);
  const chosen = useWatched(time.chosen);
  if (whole === null) return null;
  const offered = LENGTHS.filter(({ seconds }) => seconds < whole.to - whole.from);
  if (offered.length === 0) return null;
  const shows = (seconds: number) => chosen?.to === whole.to && chosen.from === whole.to - seconds;
  return (
    <Group gap={2} role="group" aria-label="Time that the charts show">
      {offered.map(({ words, seconds }) => (
        <Pressed key={words} on={shows(seconds)} onClick={() => time.show({ from: whole.to - seconds, to: whole.to })}>
          {words}
        </Pressed>
      ))}
      <Pressed on={chosen === null} onClick={() => time.show(null)}>
        All
      </Pressed>
    </Group>
  );
}

function Pressed({ on, onClick, children }: { on: boolean; onClick: () => void; children: string }) {
  return (
    <Button
      size="compact-xs"
      variant={on ? "light" : "subtle"}
      color={on ? "teal" : "gray"}
      aria-pressed={on}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
