import { Anchor, Group, Text, Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { State, toneOf } from "../components/State";
import { lanesOf } from "./lanes";
import type { RoundEvent } from "./queries";
import classes from "./Replay.module.css";

/** A round as a timeline: a line for each device, from being asked to its end. */
export function Replay({ events }: { events: readonly RoundEvent[] }) {
  const lanes = useMemo(() => lanesOf(events), [events]);
  const own = events.filter((event) => event.device === null);
  if (lanes.length === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        No device has been asked yet. {own[own.length - 1]?.reason_sentence}
      </Text>
    );
  }
  return (
    <ul className={classes.lanes} aria-label="What each device did">
      {lanes.map((lane) => (
        <li key={lane.device} className={classes.lane}>
          <Anchor component={Link} to={`/devices/${lane.device}`} size="sm" c="inherit" underline="hover" truncate>
            {lane.name}
          </Anchor>
          <div className={classes.bar} role="img" aria-label={lane.spans.map((span) => span.state).join(", then ")}>
            {lane.spans.map((span) => (
              <Tooltip key={`${span.state}-${span.from}`} label={span.sentence || span.state}>
                <span
                  className={classes.span}
                  data-state={span.state}
                  style={{
                    left: `${100 * span.from}%`,
                    width: `${Math.max(0.5, 100 * (span.to - span.from))}%`,
                    background: `var(--${toneOf(span.state)})`,
                  }}
                />
              </Tooltip>
            ))}
          </div>
          <Group gap={4} wrap="nowrap">
            <Tooltip label={lane.why} disabled={lane.why === ""}>
              <span tabIndex={lane.why === "" ? undefined : 0}>
                <State of={lane.last} />
              </span>
            </Tooltip>
          </Group>
        </li>
      ))}
    </ul>
  );
}
