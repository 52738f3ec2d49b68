import { useCallback, useMemo, useState } from "react";
import { t } from "../language/t";
import { axesAlong, numbered } from "./axes";
import type { Bounds } from "./bounds";
import { Chart, nearest } from "./Chart";
import { hueOf } from "./hues";

import type { Readings } from "./Tooltip";
import type { Drawing, Ink } from "./usePlot";
import type { ValuesOf } from "./Values";
import { Watched } from "./watched";

/** One number that was expected, and what it became. */
export interface Expected {
  /** Of the round, or the day. */
  readonly number: number;
  readonly low: number | null;
  readonly middle: number | null;
  readonly high: number | null;
  /** Null: not yet. */
  readonly happened: number | null;
}

interface Props {
  readonly title: string;
  /** By number, ascending. */
  readonly rounds: readonly Expected[];
  readonly format: (value: number) => string;
  readonly bounds?: Bounds;
  /** What the numbers count; days are no whole ones, and nothing happens in them that could be compared. */
  readonly along?: "rounds" | "days";
}

const LEGEND = [
  { words: "expected, and where four of five should lie", colour: hueOf(0) },
  { words: "happened", colour: hueOf(1) },
];
const COLUMNS = [
  { name: "low", header: "low" },
  { name: "middle", header: "expected" },
  { name: "high", header: "high" },
  { name: "happened", header: "happened" },
] as const;
/** Opacity of what lies between low and high, in hexadecimal. */
const BAND = "2e";
const POINT_PX = 7;

/** What was expected, as a line within a band that four of five lie in; and what happened in rounds, as points. */
export function ForecastChart({ title, rounds, format, bounds, along = "rounds" }: Props) {
  const byDay = along === "days";
  const [pointed] = useState(() => new Watched<number | null>(null));
  const places = useMemo(() => rounds.map(({ number }) => number), [rounds]);
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => {
      const expected = colour(hueOf(0));
      const edge = { stroke: "transparent", points: { show: false } };
      return {
        options: {
          ...axesAlong(along, axis, format, bounds),
          bands: [{ series: [1, 3], fill: `${expected}${BAND}` }],
          series: [
            {},
            { ...edge, label: "high" },
            { label: "expected", stroke: expected, width: 1.75, points: { show: rounds.length < 2 } },
            { ...edge, label: "low" },
            {
              label: "happened",
              stroke: colour(hueOf(1)),
              width: 0,
              points: { show: true, size: POINT_PX, fill: colour(hueOf(1)) },
            },
          ],
        },
        data: [
          places,
          rounds.map(({ high }) => high),
          rounds.map(({ middle }) => middle),
          rounds.map(({ low }) => low),
          rounds.map(({ happened }) => happened),
        ],
      };
    },
    [rounds, places, format, bounds, along],
  );
  const written = useCallback((value: number | null) => (value === null ? "–" : format(value)), [format]);
  const readAt = useCallback(
    (x: number): Readings => {
      const one = rounds[nearest(places, x)];
      if (one === undefined) return { heading: "", readings: [], notes: [] };
      const readings = [
        { label: "expected", value: written(one.middle), colour: hueOf(0) },
        { label: "four of five", value: t`${written(one.low)} to ${written(one.high)}` },
      ];
      if (byDay) return { heading: t`Day ${numbered(one.number)}`, readings, notes: [] };
      const happened = one.happened === null ? t`not yet` : format(one.happened);
      readings.push({ label: "happened", value: happened, colour: hueOf(1) });
      return { heading: `Round ${one.number}`, readings, notes: [] };
    },
    [rounds, places, format, written, byDay],
  );
  const values = useMemo<ValuesOf>(() => {
    const columns = COLUMNS.slice(0, byDay ? -1 : undefined).map(({ name, header }) => ({
      header,
      raw: (row: number) => rounds[row]?.[name] ?? "",
      shown: (row: number) => written(rounds[row]?.[name] ?? null),
    }));
    const number = (row: number) => rounds[row]?.number ?? "";
    const shown = (row: number) => numbered(rounds[row]?.number ?? 0);
    return {
      rows: rounds.length,
      columns: [{ header: byDay ? "day" : "round", raw: number, shown }, ...columns],
    };
  }, [rounds, written, byDay]);
  return (
    <Chart
      title={title}
      draw={draw}
      places={places}
      pointed={pointed}
      readAt={readAt}
      values={values}
      legend={byDay ? LEGEND.slice(0, 1) : LEGEND}
      spoken={byDay ? spokenOfDays(rounds, format) : spoken(rounds, format)}
    />
  );
}

function spokenOfDays(found: readonly Expected[], format: (value: number) => string): string {
  const last = found.at(-1);
  if (last === undefined || last.middle === null) return t`nothing is expected yet`;
  return t`${format(last.middle)} is expected after ${numbered(last.number)} days`;
}

function spoken(rounds: readonly Expected[], format: (value: number) => string): string {
  const last = rounds.at(-1);
  if (last === undefined || last.middle === null) return t`nothing is expected yet`;
  const newest = rounds.filter(({ happened }) => happened !== null).at(-1);
  const expected = format(last.middle);
  if (newest?.happened == null) return t`round ${last.number} is expected at ${expected}; none has happened yet`;
  const happened = format(newest.happened);
  return t`round ${last.number} is expected at ${expected}; round ${newest.number} happened at ${happened}`;
}
