import { Anchor, Group, Text, Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Legend } from "../chart/Legend";
import { drawLanes, heightOf, valuesOf } from "../chart/lanes";
import { Saveable } from "../chart/Saveable";
import { dates } from "../components/locale";
import { State, wordOf } from "../components/State";
import { t } from "../language/t";
import { drawn, type Lane, lookOf, type Replayed, replayOf } from "./lanes";
import type { RoundEvent } from "./queries";
import classes from "./Replay.module.css";

const TITLE = t`What each device did`;
/** Pixels of the picture, and of the names in it. */
const PICTURE = { width: 960, names: 200 };
const TIME = dates({ timeStyle: "medium", hourCycle: "h23" });

/** A round as a timeline: a line for each device, from being asked to its end. */
export function Replay({ events }: { events: readonly RoundEvent[] }) {
  const replayed = useMemo(() => replayOf(events), [events]);
  const { from, to, lanes } = replayed;
  const asked = lanes.filter((lane) => lane.device !== "");
  if (asked.length === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        No device has been asked yet. {lanes[0]?.why}
      </Text>
    );
  }
  const states = [...new Set(asked.flatMap((lane) => lane.spans.map((span) => span.state)))];
  const legend = states.map((state) => ({ words: wordOf(state), ...lookOf(state) }));
  return (
    <Saveable title={TITLE} picture={() => pictureOf(lanes)} legend={legend} values={valuesOf(drawn(lanes))}>
      <ul className={classes.lanes} aria-label={TITLE}>
        {lanes.map((lane) => (
          <Line key={lane.device} lane={lane} of={replayed} />
        ))}
      </ul>
      <div className={classes.lane} aria-hidden>
        <Group justify="space-between" className={classes.axis}>
          {[from, to].map((at) => (
            <Text key={at} size="xs" component="time" c="var(--quiet)">
              {TIME.format(1000 * at)}
            </Text>
          ))}
        </Group>
      </div>
      <Legend keys={legend} />
    </Saveable>
  );
}

function Line({ lane, of: { from, to } }: { lane: Lane; of: Replayed }) {
  const share = (seconds: number) => (100 * seconds) / Math.max(0.001, to - from);
  return (
    <li className={classes.lane}>
      {lane.device === "" ? (
        <Text size="sm" c="var(--quiet)">
          {lane.name}
        </Text>
      ) : (
        <Anchor component={Link} to={`/devices/${lane.device}`} size="sm" c="inherit" underline="hover" truncate>
          {lane.name}
        </Anchor>
      )}
      <div
        className={classes.bar}
        role="img"
        aria-label={lane.spans.map((span) => wordOf(span.state)).join(t`, then `)}
      >
        {lane.spans.map((span) => (
          <Tooltip key={`${span.state}-${span.from}`} label={span.sentence || wordOf(span.state)}>
            <span
              className={classes.span}
              style={{
                ...inkOf(span.state),
                left: `${share(span.from - from)}%`,
                width: `${Math.max(0.5, share(span.to - span.from))}%`,
              }}
            />
          </Tooltip>
        ))}
      </div>
      <State of={lane.last} />
      {lane.why !== "" && (
        <Text size="xs" c="var(--quiet)" className={classes.why}>
          {lane.why}
        </Text>
      )}
    </li>
  );
}

function inkOf(state: string) {
  const { colour, opacity } = lookOf(state);
  return { background: `var(${colour})`, opacity };
}

function pictureOf(lanes: readonly Lane[]): HTMLCanvasElement | undefined {
  const canvas = document.createElement("canvas");
  canvas.width = PICTURE.width * devicePixelRatio;
  canvas.height = heightOf(lanes.length) * devicePixelRatio;
  const context = canvas.getContext("2d");
  if (context === null) return undefined;
  drawLanes(context, drawn(lanes), PICTURE);
  return canvas;
}
