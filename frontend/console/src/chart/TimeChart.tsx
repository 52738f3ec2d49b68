import { useCallback, useMemo } from "react";
import uPlot from "uplot";
import { ZONE } from "../components/locale";
import { t } from "../language/t";
import { type Bounds, SHARE } from "./bounds";
import { Chart, nearest } from "./Chart";
import { hueOf } from "./hues";
import type { Readings } from "./Tooltip";
import { momentOf, tickLabels, tickRoom } from "./times";
import { useTimeZoom } from "./timespan";
import { AXIS_PX, type Drawing, type Ink, type Series, X_AXIS_PX } from "./usePlot";
import type { ValuesOf } from "./Values";

/** Something that happened at one moment, marked on the time axis. */
export interface Mark {
  /** Seconds since 1970. */
  readonly at: number;
  /** A word or two, beside the mark. */
  readonly label: string;
  /** The same in full; said where the mark is pointed at. */
  readonly sentence?: string;
}

interface Props {
  /** Names the picture for those who do not see it, and the files that it is saved to. */
  readonly title: string;
  /** Seconds since 1970, ascending; one at least. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly marks?: readonly Mark[];
  readonly format?: (value: number) => string;
  readonly bounds?: Bounds;
  /** A value holds until the next one. */
  readonly stepped?: boolean;
  /** Values are whole numbers, and so are those of the axis. */
  readonly whole?: boolean;
}

const { stepped: steps } = uPlot.paths as Required<typeof uPlot.paths>;
/** Share of the values' range that is left free above and below them. */
const ROOM = 0.1;
/** Share of what is shown within which something is pointed at. */
const NEAR = 0.015;
const NONE: readonly Mark[] = [];
export const IN_ZONE =
  ZONE === undefined ? {} : { tzDate: (at: number) => uPlot.tzDate(new Date(1000 * at), ZONE as string) };
/** Steps of an axis of whole numbers. */
export const WHOLE = [1, 2, 5]
  .flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((times) => step * times))
  .sort(ascending);

/** Values over time; stays quick with tens of thousands of points. It shows the time that the page's other charts do. */
export function TimeChart({
  title,
  times,
  series,
  marks = NONE,
  format = String,
  bounds,
  stepped = false,
  whole = false,
}: Props) {
  const { pointed, shown, zoom } = useTimeZoom(times[0] ?? 0, times.at(-1) ?? 0);
  const { from, to } = shown;
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        ...IN_ZONE,
        scales: {
          x: { range: () => [from, to] },
          y: { range: (_plot, least, most) => rangeOf(least, most, bounds) },
        },
        axes: [
          { ...axis, ...timeAxis(from, to) },
          {
            ...axis,
            size: AXIS_PX,
            values: (_plot, ticks) => ticks.map(format),
            ...(whole && { incrs: WHOLE }),
          },
        ],
        series: [
          {},
          ...series.map((line, index) => ({
            label: line.label,
            stroke: colour(hueOf(line.hue ?? index)),
            width: 1.75,
            spanGaps: true,
            ...(stepped && { paths: steps({ align: 1 }) }),
          })),
        ],
        hooks: { draw: [(chart) => drawMarks(chart, marks, colour("--quiet"))] },
      },
      data: [times, ...series.map((line) => line.values)],
    }),
    [times, series, marks, format, bounds, stepped, whole, from, to],
  );
  const many = series.length > 1;
  const readAt = useCallback(
    (at: number): Readings => {
      const place = times[nearest(times, at)] ?? at;
      const reach = NEAR * (to - from);
      const among = at >= (times[0] ?? 0) - reach && at <= (times.at(-1) ?? 0) + reach;
      return {
        heading: momentOf(among ? place : at),
        readings: series.map(({ label, values, hue }, index) => {
          const value = valueAt(times, values, at, stepped ? "held" : reach);
          return { label, value: value === null ? "–" : format(value), ...(many && { colour: hueOf(hue ?? index) }) };
        }),
        notes: marksNear(marks, at, reach).map(({ label, sentence }) => sentence ?? label),
      };
    },
    [times, series, marks, format, stepped, many, from, to],
  );
  const values = useMemo<ValuesOf>(
    () => ({
      rows: times.length,
      columns: [
        {
          header: "time",
          raw: (row) => new Date(1000 * (times[row] ?? 0)).toISOString(),
          shown: (row) => momentOf(times[row] ?? 0),
        },
        ...series.map((line) => ({
          header: line.label,
          raw: (row: number) => line.values[row] ?? "",
          shown: (row: number) => {
            const value = line.values[row];
            return value == null ? "–" : format(value);
          },
        })),
      ],
    }),
    [times, series, format],
  );

  return (
    <Chart
      title={title}
      draw={draw}
      places={times}
      pointed={pointed}
      readAt={readAt}
      values={values}
      legend={many ? series.map(({ label, hue }, index) => ({ words: label, colour: hueOf(hue ?? index) })) : []}
      zoom={zoom}
      spoken={spoken(series, marks, format)}
    />
  );
}

/** A time axis from one moment to another whose labels have room beside each other. */
export function timeAxis(from: number, to: number): Pick<uPlot.Axis, "size" | "space" | "values"> {
  const space = tickRoom(from, to);
  return { size: X_AXIS_PX, space, values: (_plot, ticks, _axis, _space, apart) => tickLabels(ticks, apart) };
}

/** What the axis shows of values from `least` to `most`, both null where there are none. */
export function rangeOf(
  least: number | null,
  most: number | null,
  bounds: Bounds = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
): [number, number] {
  if (least === null || most === null) return [...SHARE];
  const [low, high] = uPlot.rangeNum(least, most, ROOM, true);
  return [Math.max(bounds[0], low ?? least), Math.min(bounds[1], high ?? most)];
}

/**
 * The value of a line at a moment: the nearest that there is, or the one that is `held` then; null before and after the
 * line, but for so many seconds.
 */
export function valueAt(
  times: readonly number[],
  values: readonly (number | null)[],
  at: number,
  reach: number | "held",
): number | null {
  const middle = nearest(times, at);
  const seen = (row: number) => values[row] != null;
  let before = (times[middle] ?? 0) <= at ? middle : middle - 1;
  let after = (times[middle] ?? 0) >= at ? middle : middle + 1;
  while (before >= 0 && !seen(before)) before -= 1;
  while (after < times.length && !seen(after)) after += 1;
  if (reach === "held") return values[before] ?? null;
  const since = at - (times[before] ?? Number.NEGATIVE_INFINITY);
  const until = (times[after] ?? Number.POSITIVE_INFINITY) - at;
  const inside = before >= 0 && after < times.length;
  if (!inside && Math.min(since, until) > reach) return null;
  return values[since <= until ? before : after] ?? null;
}

const MOST_NOTES = 3;

function marksNear(marks: readonly Mark[], at: number, reach: number): readonly Mark[] {
  return marks.filter((mark) => Math.abs(mark.at - at) <= reach).slice(0, MOST_NOTES);
}

/** Many marks must not hide the lines. */
const MARK_OPACITY = 0.4;
const LATEST_MARKS = 5;

/** What the picture shows, in words: each line's last value, and what was marked last. */
function spoken(series: readonly Series[], marks: readonly Mark[], format: (value: number) => string): string {
  const ends = series.map((line) => {
    const last = line.values.findLast((value) => value !== null);
    return last == null ? t`${line.label} has no value` : t`${line.label} is now ${format(last)}`;
  });
  const marked = marks.slice(-LATEST_MARKS).map(({ at, label }) => t`${label} on ${momentOf(at)}`);
  return [...ends, ...marked].join(", ");
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
    ctx.globalAlpha = MARK_OPACITY;
    ctx.beginPath();
    ctx.moveTo(x, labelled ? bbox.top : bbox.top + line);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (!labelled) continue;
    ctx.fillText(mark.label, x + gap, bbox.top + 12 * devicePixelRatio);
    free = end + gap;
  }
  ctx.restore();
}

function ascending(one: number, other: number): number {
  return one - other;
}
