import { t } from "../language/t";
import { momentOf, tickLabels, tickRoom } from "./times";
import type { ValuesOf } from "./Values";

export interface Span {
  /** Seconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly tone: "good" | "wait" | "bad" | "quiet";
  readonly opacity?: number;
}

export interface Lane {
  readonly name: string;
  /** One after the other. */
  readonly spans: readonly Span[];
}

/** Pixels that a lane is high. */
export const LANE = 26;
const BAR = 14;
const AXIS = 44;

/** Pixels that so many lanes and their axis take. */
export function heightOf(lanes: number): number {
  return lanes * LANE + AXIS;
}

interface Box {
  readonly left: number;
  readonly width: number;
  /** Of the lane. */
  readonly top: number;
  /** By how much everything is larger. */
  readonly scale: number;
}

/** A span as a bar in its lane. */
export function fillSpan(
  context: CanvasRenderingContext2D,
  span: Span,
  { left, width, top, scale }: Box,
  colour: (name: string) => string,
): void {
  context.globalAlpha = span.opacity ?? (span.tone === "quiet" ? 0.35 : 1);
  context.fillStyle = colour(`--${span.tone}`);
  context.fillRect(left, top + (scale * (LANE - BAR)) / 2, Math.max(scale, width - scale / 2), scale * BAR);
  context.globalAlpha = 1;
}

/** Draws lanes one below the other, with their names in the first `names` pixels, and the time below: for a file. */
export function drawLanes(
  context: CanvasRenderingContext2D,
  lanes: readonly Lane[],
  { width, names }: { readonly width: number; readonly names: number },
): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const all = lanes.flatMap((lane) => lane.spans);
  const from = Math.min(...all.map((span) => span.from));
  const to = Math.max(...all.map((span) => span.to));
  const x = (at: number) => names + ((at - from) / Math.max(1, to - from)) * (width - names);
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.font = "12px Inter, sans-serif";
  context.textBaseline = "middle";
  lanes.forEach(({ name, spans }, row) => {
    const top = row * LANE;
    context.fillStyle = colour("--quiet");
    context.fillText(name, 0, top + LANE / 2);
    for (const span of spans) {
      fillSpan(context, span, { left: x(span.from), width: x(span.to) - x(span.from), top, scale: 1 }, colour);
    }
  });
  const count = Math.max(2, Math.floor((width - names) / tickRoom(from, to)));
  const apart = (to - from) / (count - 1);
  const ticks = Array.from({ length: count }, (_, nth) => from + nth * apart);
  context.fillStyle = colour("--quiet");
  tickLabels(ticks, apart).forEach((label, nth) => {
    context.textAlign = nth === 0 ? "left" : nth === count - 1 ? "right" : "center";
    label.split("\n").forEach((line, below) => {
      context.fillText(line, x(ticks[nth] ?? from), lanes.length * LANE + 12 + 14 * below);
    });
  });
}

/** What held when, as the table behind the lanes. */
export function valuesOf(lanes: readonly Lane[]): ValuesOf {
  const rows = lanes.flatMap(({ name, spans }) => spans.map((span) => ({ name, span })));
  const said = (header: string, of: (row: (typeof rows)[number]) => string) => {
    const text = (row: number) => (rows[row] === undefined ? "" : of(rows[row]));
    return { header, raw: text, shown: text };
  };
  const when = (header: string, of: (span: Span) => number) => ({
    header,
    raw: (row: number) => (rows[row] === undefined ? "" : new Date(1000 * of(rows[row].span)).toISOString()),
    shown: (row: number) => (rows[row] === undefined ? "" : momentOf(of(rows[row].span))),
  });
  return {
    rows: rows.length,
    columns: [
      said(t`lane`, ({ name }) => name),
      when(t`from`, ({ from }) => from),
      when(t`to`, ({ to }) => to),
      said(t`what`, ({ span }) => span.words),
    ],
  };
}
