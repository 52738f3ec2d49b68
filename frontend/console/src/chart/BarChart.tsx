import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { csvOf } from "../table/csv";
import { Saveable } from "./Saveable";
import type { Series } from "./TimeChart";

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
const FILLS = ["--quiet", "--good"] as const;
/** Share of a name's room that one bar takes, and its greatest width. */
const BAR: [number, number] = [0.38, 32];

/** Values side by side, name by name. */
export function BarChart({ title, names, series, format = String, height = 200 }: Props) {
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const scheme = useComputedColorScheme("light");

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--quiet"), ticks: { show: false } };
    const grid = { stroke: colour("--line"), width: 1 };
    const drawn = new uPlot(
      {
        width,
        height,
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
          { ...axis, grid, size: 56, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { value: (_plot: uPlot, index: number | null) => (index === null ? "–" : (names[index] ?? "")) },
          ...series.map((line, index) => ({
            label: line.label,
            fill: colour(FILLS[index % FILLS.length] ?? "--good"),
            points: { show: false },
            // Left and right of the name; one alone stands above it.
            paths: bars({ size: BAR, align: series.length === 1 ? 0 : index === 0 ? -1 : 1 }),
            value: (_plot: uPlot, value: number | null) => (value === null ? "–" : format(value)),
          })),
        ],
      },
      [names.map((_name, index) => index), ...series.map((line) => line.values as (number | null)[])],
      place.current,
    );
    plot.current = drawn;
    return () => drawn.destroy();
  }, [names, series, format, width, height, scheme]);

  const table = () =>
    csvOf(
      ["name", ...series.map((line) => line.label)],
      names.map((name, row) => [name, ...series.map((line) => line.values[row] ?? "")]),
    );
  const spoken = names.map(
    (name, row) => `${name}: ${series.map((line) => `${line.label} ${said(line.values[row], format)}`).join(", ")}`,
  );

  return (
    <Saveable title={title} picture={() => plot.current?.ctx.canvas} table={table} ref={ref}>
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
