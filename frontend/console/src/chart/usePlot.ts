import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type RefObject, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./plot.css";
import type { Watched } from "./watched";

/** A line or a kind of bar: a value for each place on the x axis, null where there is none. */
export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Which hue it has wherever it is drawn; without, that of its place among the others. */
  readonly hue?: number | undefined;
}

/** What the page draws with now. */
export interface Ink {
  /** The page's colour of that name, say `--data-1`. */
  readonly colour: (name: string) => string;
  /** How an axis and its grid look. */
  readonly axis: uPlot.Axis;
}

/** What is to be drawn; its size is found on the page. */
export interface Drawing {
  readonly options: Omit<uPlot.Options, "width" | "height" | "cursor" | "legend">;
  /** The x values, then those of each series. */
  readonly data: readonly (readonly (number | null)[])[];
}

/** What happens where the pointer goes. */
export interface Pointing {
  /** The x value that is pointed at, by this chart or by another. */
  readonly pointed: Watched<number | null>;
  /** Show what was dragged over; without it nothing can be dragged. */
  readonly choose?: ((from: number, to: number) => void) | undefined;
  /** Show everything again: a double click. */
  readonly reset?: (() => void) | undefined;
}

interface Plot {
  /** For the element that says how wide the chart may be. */
  readonly ref: ReturnType<typeof useElementSize>["ref"];
  readonly width: number;
  /** For the element that the chart is drawn into. */
  readonly place: RefObject<HTMLDivElement | null>;
  readonly plot: RefObject<uPlot | null>;
}

/** Pixels that the names of a y axis take; the same in all charts, so that those below each other line up. */
export const AXIS_PX = 64;
/** Pixels that an x axis is high: a moment, and below it the day. */
export const X_AXIS_PX = 38;
/** Fewer pixels are a click. */
const DRAGGED_PX = 5;

/** A uPlot chart, drawn again when `draw` is another function, or the size or the colours of the page change. */
export function usePlot(draw: (ink: Ink) => Drawing, height: number, { pointed, choose, reset }: Pointing): Plot {
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const scheme = useComputedColorScheme("light");

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const { options, data } = draw(inkOfPage());
    const drawn = new uPlot(
      {
        ...options,
        width,
        height,
        legend: { show: false },
        cursor: {
          y: false,
          points: { size: 6 },
          drag: { x: choose !== undefined, y: false, setScale: false, dist: DRAGGED_PX },
          bind: {
            dblclick: () => () => {
              reset?.();
              return null;
            },
          },
        },
        hooks: {
          ...options.hooks,
          setCursor: [
            (chart) => pointed.set((chart.cursor.left ?? -1) < 0 ? null : chart.posToVal(chart.cursor.left ?? 0, "x")),
          ],
          setSelect: [
            (chart) => {
              const { left, width: dragged } = chart.select;
              if (dragged >= DRAGGED_PX) choose?.(chart.posToVal(left, "x"), chart.posToVal(left + dragged, "x"));
            },
          ],
        },
      },
      data as uPlot.AlignedData,
      place.current,
    );
    plot.current = drawn;
    const follow = () => {
      const at = pointed.get();
      drawn.setCursor({ left: at === null ? -10 : drawn.valToPos(at, "x"), top: at === null ? -10 : 0 }, false);
    };
    const end = pointed.watch(follow);
    return () => {
      end();
      drawn.destroy();
      plot.current = null;
    };
  }, [draw, width, height, scheme, pointed, choose, reset]);

  return { ref, width, place, plot };
}

function inkOfPage(): Ink {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    font: "12px Inter, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    gap: 8,
  };
  return { colour, axis };
}
