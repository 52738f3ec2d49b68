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
}

const { bars } = uPlot.paths as Required<typeof uPlot.paths>;
/** Share of a name's room that one bar takes, and its greatest width. */
const BAR: [number, number] = [0.38, 32];

/** Values side by side, name by name. */
export function BarChart({ title, names, series, format = String, height = 200 }: Props) {
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        legend: { show: series.length > 1 },
        cursor: { points: { show: false } },
        scales: {
          x: { time: false, range: () => [-0.5, names.length - 0.5] },
          y: { range: (_plot, _least, most) => [0, most * 1.05 || 1] },
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
    [names, series, format],
  );
  const { ref, place, picture } = usePlot(draw, height);

  const table = () =>
    csvOf(
      ["name", ...series.map((line) => line.label)],
      names.map((name, row) => [name, ...series.map((line) => line.values[row] ?? "")]),
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

function said(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "has no value" : format(value);
}
