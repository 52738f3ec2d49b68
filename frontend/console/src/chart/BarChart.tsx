import { useCallback } from "react";
import uPlot from "uplot";
import { csvOf } from "../table/csv";
import { hueOf } from "./hues";
import { Saveable } from "./Saveable";
import { type Drawing, type Ink, type Series, usePlot } from "./usePlot";

interface Props {
  readonly title: string;
  /** What stands under each group of bars. */
  readonly names: readonly string[];
  /** A bar of each for every name; two at most. */
  readonly series: readonly Series[];
  readonly format?: (value: number) => string;
  readonly height?: number;
  /** Standard deviation of each value: two of them either way are drawn over its bar. */
  readonly deviation?: number;
}

const { bars } = uPlot.paths as Required<typeof uPlot.paths>;
/** Share of a name's room that one bar takes, and its greatest width. */
const BAR: [number, number] = [0.38, 32];

/** Values side by side, name by name. */
export function BarChart({ title, names, series, format = String, height = 200, deviation = 0 }: Props) {
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        legend: { show: series.length > 1 },
        cursor: { points: { show: false } },
        hooks: deviation > 0 ? { draw: [(chart) => whiskers(chart, 2 * deviation, colour("--quiet"))] } : {},
        scales: {
          x: { time: false, range: () => [-0.5, names.length - 0.5] },
          y: {
            range: (_plot, least, most) => [Math.min(0, least - 2 * deviation), (most + 2 * deviation) * 1.05 || 1],
          },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            splits: () => names.map((_name, index) => index),
            values: (chart, splits) => shown(names, splits, chart.bbox.width / devicePixelRatio),
          },
          { ...axis, size: 56, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { value: (_plot: uPlot, index: number | null) => (index === null ? "" : (names[index] ?? "")) },
          ...series.map((line, index) => ({
            label: line.label,
            fill: colour(hueOf(index)),
            points: { show: false },
            // Left and right of the name; one alone stands above it.
            paths: bars({ size: BAR, align: series.length === 1 ? 0 : index === 0 ? -1 : 1 }),
            value: (_plot: uPlot, value: number | null) => (value === null ? "" : format(value)),
          })),
        ],
      },
      data: [names.map((_name, index) => index), ...series.map((line) => line.values)],
    }),
    [names, series, format, deviation],
  );
  const { ref, place, picture } = usePlot(draw, height);

  const table = () =>
    csvOf(
      ["name", ...series.map((line) => line.label), ...(deviation > 0 ? ["standard deviation"] : [])],
      names.map((name, row) => [
        name,
        ...series.map((line) => line.values[row] ?? ""),
        ...(deviation > 0 ? [deviation] : []),
      ]),
    );
  const spoken = names.map(
    (name, row) => `${name}: ${series.map((line) => `${line.label} ${said(line.values[row], format)}`).join(", ")}`,
  );

  const legend = series.length > 1 ? series.map(({ label }, index) => ({ words: label, colour: hueOf(index) })) : [];

  return (
    <Saveable title={title} picture={picture} legend={legend} table={table} ref={ref}>
      <div ref={place} role="img" aria-label={`${title}. ${spoken.join("; ")}`} />
    </Saveable>
  );
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

function said(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "has no value" : format(value);
}
