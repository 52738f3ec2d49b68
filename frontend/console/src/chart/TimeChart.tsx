import { ActionIcon, Group, Menu, Text, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { IconDownload } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { save } from "../components/save";
import { csvOf } from "../table/csv";
import classes from "./TimeChart.module.css";

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

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
  readonly height?: number;
}

const LINES = ["--good", "--wait", "--bad", "--quiet"] as const;

/** Values over time; stays quick with tens of thousands of points. */
export function TimeChart({ title, times, series, marks = [], format = String, height = 200 }: Props) {
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const scheme = useComputedColorScheme("light");

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const drawn = new uPlot(
      {
        width,
        height,
        legend: { show: series.length > 1 },
        cursor: { points: { size: 6 } },
        axes: [axis, { ...axis, size: 56, values: (_plot, ticks) => ticks.map(format) }],
        series: [
          {},
          ...series.map((line, index) => ({
            label: line.label,
            stroke: colour(LINES[index % LINES.length] ?? "--good"),
            width: 1.75,
            spanGaps: false,
            value: (_plot: uPlot, value: number | null) => (value === null ? "–" : format(value)),
          })),
        ],
        hooks: { draw: [(chart) => drawMarks(chart, marks, colour("--quiet"))] },
      },
      [times as number[], ...series.map((line) => line.values as (number | null)[])],
      place.current,
    );
    plot.current = drawn;
    return () => drawn.destroy();
  }, [times, series, marks, format, width, height, scheme]);

  const table = () =>
    csvOf(
      ["time", ...series.map((line) => line.label)],
      times.map((at, row) => [new Date(at * 1000).toISOString(), ...series.map((line) => line.values[row] ?? "")]),
    );

  return (
    <figure className={classes.figure} ref={ref}>
      <Group component="figcaption" justify="space-between" gap="xs">
        <Text size="sm" fw={550}>
          {title}
        </Text>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Save “${title}”`}>
              <IconDownload size={15} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => plot.current?.ctx.canvas.toBlob((blob) => blob && save(`${title}.png`, blob))}>
              As PNG
            </Menu.Item>
            <Menu.Item onClick={() => save(`${title}.csv`, new Blob([table()], { type: "text/csv" }))}>
              Its data as CSV
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
      <div ref={place} role="img" aria-label={spoken(title, series, format)} />
    </figure>
  );
}

/** What the picture shows, in words: each line's last value. */
function spoken(title: string, series: readonly Series[], format: (value: number) => string): string {
  const ends = series.map((line) => {
    const last = line.values.findLast((value) => value !== null);
    return `${line.label} ${last === undefined || last === null ? "has no value" : `is now ${format(last)}`}`;
  });
  return `${title}: ${ends.join(", ")}`;
}

function drawMarks(chart: uPlot, marks: readonly Mark[], colour: string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.font = `${11 * devicePixelRatio}px Inter, sans-serif`;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of marks) {
    const x = Math.round(chart.valToPos(mark.at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.label, x + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}
