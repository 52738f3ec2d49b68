import { hueOf } from "./hues";

interface Props {
  /** In their order; null where there is none. */
  readonly values: readonly (number | null)[];
  /** In pixels; it is a quarter as high. */
  readonly width?: number;
  /** Of the federation that it tells of; the first where it tells of none. */
  readonly hue?: number | undefined;
}

const WIDTH = 120;
const HEIGHT = 28;
/** Half of the line's width, so that nothing of it is cut off. */
const EDGE = 1;

/** A line without axes: how a figure came about. Who cannot see it misses nothing that the figure does not say. */
export function Sparkline({ values, width = WIDTH, hue = 0 }: Props) {
  const path = pathOf(values);
  if (path === "") return null;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={width} height={(HEIGHT * width) / WIDTH} aria-hidden>
      <path d={path} fill="none" stroke={`var(${hueOf(hue)})`} strokeWidth={2 * EDGE} strokeLinejoin="round" />
    </svg>
  );
}

/** The line through the values that are there, its least at the bottom and its greatest at the top; none of fewer than two. */
export function pathOf(values: readonly (number | null)[]): string {
  const points = values.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
  if (points.length < 2) return "";
  const least = Math.min(...points.map(({ value }) => value));
  const range = Math.max(...points.map(({ value }) => value)) - least;
  return points
    .map(({ value, index }, nth) => {
      const x = EDGE + ((WIDTH - 2 * EDGE) * index) / (values.length - 1);
      const share = range === 0 ? 0.5 : (value - least) / range;
      return `${nth === 0 ? "M" : "L"}${x.toFixed(1)} ${(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * share).toFixed(1)}`;
    })
    .join("");
}
