import { createContext, useContext, useEffect, useId, useMemo } from "react";
import { useWatched, Watched } from "./watched";

/** From one moment to another, in seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What all time charts of a page share: what they show of time, and the moment that is pointed at. */
export class Timespan {
  readonly pointed = new Watched<number | null>(null);
  /** What is zoomed to; null: everything. */
  readonly chosen = new Watched<Span | null>(null);
  /** From the first to the last value of any chart; null without charts. */
  readonly whole = new Watched<Span | null>(null);
  readonly #covered = new Map<string, Span>();

  /** Have the page's time reach over `span`, until what this returns is called. */
  cover(chart: string, span: Span): () => void {
    this.#covered.set(chart, span);
    this.#measure();
    return () => {
      this.#covered.delete(chart);
      this.#measure();
    };
  }

  #measure(): void {
    const spans = [...this.#covered.values()];
    const from = Math.min(...spans.map((span) => span.from));
    const to = Math.max(...spans.map((span) => span.to));
    const before = this.whole.get();
    if (spans.length === 0) this.whole.set(null);
    else if (before?.from !== from || before.to !== to) this.whole.set({ from, to });
  }

  /** Show `span`, or as much of it as there is; everything where that is all of it, or null. */
  readonly show = (span: Span | null): void => {
    const whole = this.whole.get();
    this.chosen.set(span === null || whole === null ? null : within(span, whole));
  };

  /** Show `factor` of what is shown now, around the moment that is pointed at, or else the middle. */
  zoom(factor: number): void {
    const shown = this.chosen.get() ?? this.whole.get();
    if (shown === null) return;
    const centre = this.pointed.get() ?? (shown.from + shown.to) / 2;
    const before = Math.min(1, Math.max(0, (centre - shown.from) / Math.max(1, shown.to - shown.from)));
    const length = factor * (shown.to - shown.from);
    this.show({ from: centre - before * length, to: centre + (1 - before) * length });
  }
}

/** Closer than that nothing is shown, in seconds. */
const LEAST = 1;

/** The part of `span` that is in `whole`; null where that is the whole, or next to nothing. */
export function within(span: Span, whole: Span): Span | null {
  const from = Math.max(span.from, whole.from);
  const to = Math.min(span.to, whole.to);
  if (to - from < LEAST || (from === whole.from && to === whole.to)) return null;
  return { from, to };
}

/** Each page has its own. */
export const PageTime = createContext(new Timespan());

/** The page's time, which from now on reaches over `own`, and the part of it that is shown; `apart`: before a zoom its own. */
function usePageTime(own: Span, apart: boolean): { readonly time: Timespan; readonly shown: Span } {
  const time = useContext(PageTime);
  const chart = useId();
  const { from, to } = own;
  useEffect(() => time.cover(chart, { from, to }), [time, chart, from, to]);
  const whole = useWatched(time.whole);
  return { time, shown: useWatched(time.chosen) ?? (apart ? own : (whole ?? own)) };
}

/**
 * How a chart from one moment to another takes part in the page's time; `apart`: until somebody zooms it shows its own,
 * since the page's is much longer.
 */
export function useTimeZoom(from: number, to: number, apart = false) {
  const { time, shown } = usePageTime({ from, to }, apart);
  const zoomed = useWatched(time.chosen) !== null;
  const zoom = useMemo(
    () => ({
      choose: (from: number, to: number) => time.show({ from, to }),
      by: (factor: number) => time.zoom(factor),
      reset: () => time.show(null),
      zoomed,
    }),
    [time, zoomed],
  );
  return { pointed: time.pointed, shown, zoom };
}
