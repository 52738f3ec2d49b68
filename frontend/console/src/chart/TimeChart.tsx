import { useCallback } from "react";
import uPlot from "uplot";
import { ZONE } from "../components/locale";
import { csvOf } from "../table/csv";
import { hueOf } from "./hues";
import { Saveable } from "./Saveable";
import { momentOf, TICK_PX, tickLabels } from "./times";
import { type Drawing, type Ink, type Series, usePlot } from "./usePlot";

/** Something that happened at one moment, marked on the time axis. */
export interface Mark {
  /** Seconds since 1970. */
  readonly at: number;
  readonly label: string;
}

interface Props {
  /** Names the picture for those who do not see it, and the files that it is saved to. */
  readonly title: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly marks?: readonly Mark[];
  readonly format?: (value: number) => string;
  /** What no value can be below or above: the axis ends there. */
  readonly bounds?: readonly [number, number];
  readonly height?: number;
  /** A value holds until the next one. */
  readonly stepped?: boolean;
}

const { stepped: steps } = uPlot.paths as Required<typeof uPlot.paths>;
/** Least and greatest of what is a share of 1. */
export const SHARE: readonly [number, number] = [0, 1];
/** Share of the values' range that is left free above and below them. */
const ROOM = 0.1;
const NONE: readonly Mark[] = [];
const IN_ZONE = ZONE === undefined ? {} : { tzDate: (at: number) => uPlot.tzDate(new Date(1000 * at), ZONE as string) };

/** Values over time; stays quick with tens of thousands of points. */
export function TimeChart({
  title,
  times,
  series,
  marks = NONE,
  format = String,
  bounds,
  height = 200,
  stepped = false,
}: Props) {
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        legend: { show: series.length > 1 },
        ...IN_ZONE,
        cursor: { points: { size: 6 } },
        scales: { y: { range: (_plot, least, most) => rangeOf(least, most, bounds) } },
        axes: [
          { ...axis, space: TICK_PX, values: (_plot, ticks, _axis, _space, apart) => tickLabels(ticks, apart) },
          { ...axis, size: 56, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { value: (_plot: uPlot, at: number | null) => (at === null ? "" : momentOf(at)) },
          ...series.map((line, index) => ({
            label: line.label,
            stroke: colour(hueOf(index)),
            width: 1.75,
            spanGaps: true,
            ...(stepped && { paths: steps({ align: 1 }) }),
            value: (_plot: uPlot, value: number | null) => (value === null ? "" : format(value)),
          })),
        ],
        hooks: { draw: [(chart) => drawMarks(chart, marks, colour("--quiet"))] },
      },
      data: [times, ...series.map((line) => line.values)],
    }),
    [times, series, marks, format, bounds, stepped],
  );
  const { ref, place, picture } = usePlot(draw, height);

  const table = () =>
    csvOf(
      ["time", ...series.map((line) => line.label)],
      times.map((at, row) => [new Date(at * 1000).toISOString(), ...series.map((line) => line.values[row] ?? "")]),
    );

  const legend = series.length > 1 ? series.map(({ label }, index) => ({ words: label, colour: hueOf(index) })) : [];

  return (
    <Saveable title={title} picture={picture} legend={legend} table={table} ref={ref}>
      <div ref={place} role="img" aria-label={spoken(title, series, marks, format)} />
    </Saveable>
  );
}

/** What the axis shows of values from `least` to `most`, both null where there are none. */
export function rangeOf(
  least: number | null,
  most: number | null,
  bounds: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
): [number, number] {
  if (least === null || most === null) return [...SHARE];
  const [low, high] = uPlot.rangeNum(least, most, ROOM, true);
  return [Math.max(bounds[0], low ?? least), Math.min(bounds[1], high ?? most)];
}

const LATEST_MARKS = 5;

/** What the picture shows, in words: each line's last value, and what was marked last. */
function spoken(
  title: string,
  series: readonly Series[],
  marks: readonly Mark[],
  format: (value: number) => string,
): string {
  const ends = series.map((line) => {
    const last = line.values.findLast((value) => value !== null);
    return `${line.label} ${last === undefined || last === null ? "has no value" : `is now ${format(last)}`}`;
  });
  const marked = marks.slice(-LATEST_MARKS).map(({ at, label }) => `${label} on ${momentOf(at)}`);
  return `${title}: ${[...ends, ...marked].join(", ")}`;
}

/** A dashed line for each mark, and its label where there is room for it; lines without one end below those. */
function drawMarks(chart: uPlot, marks: readonly Mark[], colour: string): void {
  const { ctx, bbox } = chart;
  const gap = 4 * devicePixelRatio;
  const line = 16 * devicePixelRatio;
  let free = bbox.left;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.textAlign = "left"; // the axes have left it otherwise
  ctx.font = `${11 * devicePixelRatio}px Inter, sans-serif`;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of marks) {
    const x = Math.round(chart.valToPos(mark.at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const end = x + gap + ctx.measureText(mark.label).width;
    const labelled = x >= free && end <= bbox.left + bbox.width;
    ctx.beginPath();
    ctx.moveTo(x, labelled ? bbox.top : bbox.top + line);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (!labelled) continue;
    ctx.fillText(mark.label, x + gap, bbox.top + 12 * devicePixelRatio);
    free = end + gap;
  }
  ctx.restore();
}
