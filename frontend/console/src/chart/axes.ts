import type uPlot from "uplot";
import type { Bounds } from "./bounds";
import { rangeOf, WHOLE } from "./TimeChart";
import { AXIS_PX, type Drawing, X_AXIS_PX } from "./usePlot";

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
      { ...axis, size: AXIS_PX, values: (_plot, ticks) => ticks.map(format) },
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
