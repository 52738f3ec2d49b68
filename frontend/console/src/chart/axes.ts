import type uPlot from "uplot";
import { duration } from "../components/units";
import type { Bounds } from "./bounds";
import { rangeOf, WHOLE } from "./TimeChart";
import { AXIS_PX, type Drawing, X_AXIS_PX } from "./usePlot";

/** Steps of an axis of seconds: whole minutes, hours and days. */
const OF_TIME = [
  ...[1, 10, 100, 1000, 10_000].flatMap((times) => [1, 2, 5].map((step) => (step * times) / 10_000)),
  ...[10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => 60 * minutes),
  ...[1, 2, 3, 6, 12].map((hours) => 3600 * hours),
  ...[1, 2, 7, 14, 28].map((days) => 86_400 * days),
];

/** An x axis that counts, instead of telling the time, and a y axis of values. */
export function axesAlong(
  along: "rounds" | "days",
  axis: uPlot.Axis,
  format: (value: number) => string,
  bounds: Bounds | undefined,
): Pick<Drawing["options"], "scales" | "axes"> {
  const byRound = along === "rounds";
  return {
    scales: {
      x: { time: false, range: byRound ? spread : fromBeginning },
      y: { range: (_plot, least, most) => rangeOf(least, most, bounds) },
    },
    axes: [
      {
        ...axis,
        size: X_AXIS_PX,
        ...(byRound && { incrs: WHOLE }),
        values: (_plot, ticks) => ticks.map((tick) => numbered(tick)),
      },
      {
        ...axis,
        size: AXIS_PX,
        values: (_plot, ticks) => ticks.map(format),
        ...(format === duration && { incrs: OF_TIME }),
      },
    ],
  };
}

/** A number of days, or of a round, with as many places as it takes. */
export function numbered(many: number): string {
  return `${Number(many.toFixed(2))}`;
}

/** Half a round is left free on both sides. */
function spread(_plot: uPlot, least: number | null, most: number | null): [number, number] {
  return [(least ?? 1) - 0.5, (most ?? 1) + 0.5];
}

/** Up to the last day. */
function fromBeginning(_plot: uPlot, _least: number | null, most: number | null): [number, number] {
  return [0, most ?? 1];
}
