import { useCallback, useMemo, useState } from "react";
import type uPlot from "uplot";
import { t } from "../language/t";
import { Chart } from "./Chart";
import { hueOf } from "./hues";
import type { Readings } from "./Tooltip";
import { AXIS_PX, type Drawing, type Ink, type Series, X_AXIS_PX } from "./usePlot";
import type { ValuesOf } from "./Values";
import { Watched } from "./watched";

interface Props {
  readonly title: string;
  /** What stands under each group of bars. */
  readonly names: readonly string[];
  /** A bar of each for every name. */
  readonly series: readonly Series[];
  readonly format?: (value: number) => string;
  /** The most that a value can be: the axis ends there. */
  readonly most?: number;
  /** Standard deviation of each value: two of them either way are drawn over its bar. */
  readonly deviation?: number;
}

/** Share of a name's room that its bars take, and the greatest width of one in pixels. */
const BARS = 0.76;
const WIDEST = 32;

/** Values side by side, name by name. */
export function BarChart({ title, names, series, format = String, most, deviation = 0 }: Props) {
  const [pointed] = useState(() => new Watched<number | null>(null));
  const places = useMemo(() => names.map((_name, index) => index), [names]);
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        hooks: deviation > 0 ? { draw: [(chart) => whiskers(chart, 2 * deviation, colour("--quiet"))] } : {},
        scales: {
          x: { time: false, range: () => [-0.5, names.length - 0.5] },
          y: {
            range: (_plot, low, high) => [
              Math.min(0, low - 2 * deviation),
              Math.min(most ?? Number.POSITIVE_INFINITY, (high + 2 * deviation) * 1.05 || 1),
            ],
          },
        },
        axes: [
          {
            ...axis,
            size: X_AXIS_PX,
            grid: { show: false },
            splits: () => [...places],
            values: (chart, splits) => shown(names, splits, chart.bbox.width / devicePixelRatio),
          },
          { ...axis, size: AXIS_PX, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          ...series.map((line, index) => ({
            label: line.label,
            fill: colour(hueOf(index)),
            points: { show: false },
            paths: (chart: uPlot, nth: number) => bars(chart, nth, series.length),
          })),
        ],
      },
      data: [places, ...series.map((line) => line.values)],
    }),
    [names, places, series, format, most, deviation],
  );
  const many = series.length > 1;
  const readAt = useCallback(
    (x: number): Readings => {
      const row = Math.min(names.length - 1, Math.max(0, Math.round(x)));
      return {
        heading: names[row] ?? "",
        readings: series.map(({ label, values }, index) => ({
          label,
          value: written(values[row], format, deviation),
          ...(many && { colour: hueOf(index) }),
        })),
        notes: [],
      };
    },
    [names, series, format, deviation, many],
  );
  const values = useMemo<ValuesOf>(
    () => ({
      rows: names.length,
      columns: [
        { header: "name", raw: (row) => names[row] ?? "", shown: (row) => names[row] ?? "" },
        ...series.map((line) => ({
          header: line.label,
          raw: (row: number) => line.values[row] ?? "",
          shown: (row: number) => written(line.values[row], format, 0),
        })),
        ...(deviation > 0
          ? [{ header: "standard deviation", raw: () => deviation, shown: () => format(deviation) }]
          : []),
      ],
    }),
    [names, series, format, deviation],
  );
  const spoken = names.map(
    (name, row) =>
      `${name}: ${series.map((line) => `${line.label} ${written(line.values[row], format, 0)}`).join(", ")}`,
  );

  return (
    <Chart
      title={title}
      draw={draw}
      places={places}
      pointed={pointed}
      readAt={readAt}
      values={values}
      legend={many ? series.map(({ label }, index) => ({ words: label, colour: hueOf(index) })) : []}
      spoken={spoken.join("; ")}
    />
  );
}

/** The bars of the series `nth`, from 1 of `count`, each at its place beside those of the others. */
function bars(chart: uPlot, nth: number, count: number): uPlot.Series.Paths {
  const fill = new Path2D();
  const apart = Math.abs(chart.valToPos(1, "x", true) - chart.valToPos(0, "x", true));
  const width = Math.min((BARS * apart) / count, WIDEST * devicePixelRatio);
  const ground = chart.valToPos(0, "y", true);
  chart.data[nth]?.forEach((value, index) => {
    if (value == null) return;
    const left = chart.valToPos(index, "x", true) + (nth - 1 - count / 2) * width;
    const top = chart.valToPos(value, "y", true);
    fill.rect(left, Math.min(top, ground), Math.max(1, width - devicePixelRatio), Math.abs(ground - top));
  });
  return { fill };
}

/** The names for which there is room, evenly. */
function shown(names: readonly string[], splits: readonly number[], width: number): string[] {
  const longest = Math.max(...names.map((name) => name.length), 1);
  const step = Math.max(1, Math.ceil((names.length * (longest * 7 + 10)) / Math.max(width, 1)));
  return splits.map((index) => (index % step === 0 ? (names[index] ?? "") : ""));
}

/** A line over the first bar of each name, from so much below its value to as much above. */
function whiskers(chart: uPlot, reach: number, colour: string): void {
  const { ctx, data } = chart;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  data[1]?.forEach((value, index) => {
    if (value === null || value === undefined) return;
    const x = chart.valToPos(index, "x", true);
    ctx.moveTo(x, chart.valToPos(value - reach, "y", true));
    ctx.lineTo(x, chart.valToPos(value + reach, "y", true));
  });
  ctx.stroke();
  ctx.restore();
}

function written(value: number | null | undefined, format: (value: number) => string, deviation: number): string {
  if (value == null) return t`no value`;
  return deviation > 0 ? `${format(value)} ± ${format(2 * deviation)}` : format(value);
}
