import { type KeyboardEvent, useMemo } from "react";
import classes from "./Chart.module.css";
import { Legend } from "./Legend";
import type { Key } from "./poster";
import { Saveable } from "./Saveable";
import { type Readings, spokenOf, Tooltip } from "./Tooltip";
import { type Drawing, type Ink, usePlot } from "./usePlot";
import type { ValuesOf } from "./Values";
import { useWatched, type Watched } from "./watched";

/** How a chart shows less and more of its x axis. */
export interface Zoom {
  readonly choose: (from: number, to: number) => void;
  /** By a factor of what is shown. */
  readonly by: (factor: number) => void;
  readonly reset: () => void;
  /** Whether not everything is shown. */
  readonly zoomed: boolean;
}

interface Props {
  readonly title: string;
  readonly draw: (ink: Ink) => Drawing;
  /** The x values at which there is something, ascending. */
  readonly places: readonly number[];
  readonly pointed: Watched<number | null>;
  /** What the chart shows at an x value. */
  readonly readAt: (x: number) => Readings;
  readonly values: ValuesOf;
  readonly legend?: readonly Key[];
  readonly zoom?: Zoom;
  /** What the whole chart says, in words. */
  readonly spoken: string;
  /** In pixels, of charts that are not as high as all others. */
  readonly height?: number;
}

/** Pixels that charts are high. */
const HEIGHT = 200;
const CLOSER = 0.5;
const WIDER = 2;

/**
 * A chart as all are: a title, values at the place that is pointed at, and the same as a table and as files. With the
 * keyboard the arrows point, plus and minus zoom, and Escape shows everything again.
 */
export function Chart({
  title,
  draw,
  places,
  pointed,
  readAt,
  values,
  legend = [],
  zoom,
  spoken,
  height = HEIGHT,
}: Props) {
  const { ref, width, place, plot } = usePlot(draw, height, { pointed, choose: zoom?.choose, reset: zoom?.reset });
  const at = useWatched(pointed);
  const found = useMemo(() => (at === null ? null : readAt(at)), [at, readAt]);
  const left = at === null || plot.current === null ? null : plot.current.valToPos(at, "x");
  const over = plot.current?.over;
  const inside = left !== null && over !== undefined && left >= 0 && left <= over.clientWidth;

  const onKeyDown = (event: KeyboardEvent) => {
    const acted = actionOf(event.key, { places, at, zoom });
    if (acted === undefined) return;
    event.preventDefault();
    if (typeof acted === "number") pointed.set(acted);
    else acted();
  };

  return (
    <Saveable
      title={title}
      picture={() => plot.current?.ctx.canvas}
      legend={legend}
      values={values}
      reset={zoom?.zoomed === true ? zoom.reset : undefined}
      ref={ref}
    >
      <div
        className={classes.plot}
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, places.length - 1)}
        aria-valuenow={at === null ? Math.max(0, places.length - 1) : nearest(places, at)}
        aria-valuetext={found === null ? spoken : spokenOf(found)}
        aria-keyshortcuts={zoom === undefined ? "ArrowLeft ArrowRight" : "ArrowLeft ArrowRight + - Escape"}
        onKeyDown={onKeyDown}
        onBlur={() => pointed.set(null)}
      >
        <div ref={place} style={{ height }} />
        {inside && found !== null && <Tooltip of={found} left={left + over.offsetLeft} width={width} />}
      </div>
      <Legend keys={legend} />
    </Saveable>
  );
}

interface State {
  readonly places: readonly number[];
  readonly at: number | null;
  readonly zoom: Zoom | undefined;
}

/** What a key does: the place that is then pointed at, or something else; undefined: it does nothing here. */
export function actionOf(key: string, { places, at, zoom }: State): number | (() => void) | undefined {
  const now = at === null ? null : nearest(places, at);
  switch (key) {
    case "ArrowRight":
      return places[now === null ? 0 : Math.min(now + 1, places.length - 1)];
    case "ArrowLeft":
      return places[now === null ? places.length - 1 : Math.max(now - 1, 0)];
    case "Home":
      return places[0];
    case "End":
      return places.at(-1);
    case "+":
    case "=":
      return zoom && (() => zoom.by(CLOSER));
    case "-":
      return zoom && (() => zoom.by(WIDER));
    case "Escape":
      return zoom?.zoomed === true ? zoom.reset : undefined;
    default:
      return undefined;
  }
}

/** Which of `places`, ascending, is nearest to x. */
export function nearest(places: readonly number[], x: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - (places[low - 1] ?? 0) < (places[low] ?? 0) - x ? low - 1 : low;
}
