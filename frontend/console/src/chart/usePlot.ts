import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type RefObject, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./plot.css";

/** A line or a kind of bar: a value for each place on the x axis, null where there is none. */
export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
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
  readonly options: Omit<uPlot.Options, "width" | "height">;
  /** The x values, then those of each series. */
  readonly data: readonly (readonly (number | null)[])[];
}

interface Plot {
  /** For the element that says how wide the chart may be. */
  readonly ref: ReturnType<typeof useElementSize>["ref"];
  /** For the element that the chart is drawn into. */
  readonly place: RefObject<HTMLDivElement | null>;
  readonly picture: () => HTMLCanvasElement | undefined;
}

/** A uPlot chart, drawn again when `draw` is another function, or the width or the colours of the page change. */
export function usePlot(draw: (ink: Ink) => Drawing, height: number): Plot {
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const scheme = useComputedColorScheme("light");

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const { options, data } = draw(inkOfPage());
    const drawn = new uPlot({ ...options, width, height }, data as uPlot.AlignedData, place.current);
    plot.current = drawn;
    return () => drawn.destroy();
  }, [draw, width, height, scheme]);

  return { ref, place, picture: () => plot.current?.ctx.canvas };
}

function inkOfPage(): Ink {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    font: "12px Inter, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return { colour, axis };
}
