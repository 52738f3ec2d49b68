import { dates } from "../components/locale";
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

const LANE = 26;
const BAR = 14;
const AXIS = 22;
/** Pixels that the name of a moment takes, with room beside it. */
const TICK = 105;
const DAY = dates({ month: "short", day: "numeric" });
const HOUR = dates({ weekday: "short", hour: "2-digit", minute: "2-digit" });

/** Pixels that so many lanes and their axis take. */
export function heightOf(lanes: number): number {
  return lanes * LANE + AXIS;
}

/** Draws lanes one below the other, with their names in the first `names` pixels, and the time below. */
export function drawLanes(
  context: CanvasRenderingContext2D,
  lanes: readonly Lane[],
  { width, names }: { readonly width: number; readonly names: number },
): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const height = heightOf(lanes.length);
  const all = lanes.flatMap((lane) => lane.spans);
  const from = Math.min(...all.map((span) => span.from));
  const to = Math.max(...all.map((span) => span.to));
  const x = (at: number) => names + ((at - from) / Math.max(1, to - from)) * (width - names);
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px Inter, sans-serif";
  context.textBaseline = "middle";
  lanes.forEach(({ name, spans }, row) => {
    const top = row * LANE;
    context.fillStyle = colour("quiet");
    context.fillText(name, 0, top + LANE / 2);
    for (const span of spans) {
      context.globalAlpha = span.opacity ?? (span.tone === "quiet" ? 0.35 : 1);
      context.fillStyle = colour(span.tone);
      context.fillRect(x(span.from), top + (LANE - BAR) / 2, Math.max(1, x(span.to) - x(span.from) - 0.5), BAR);
    }
    context.globalAlpha = 1;
  });
  const written = to - from > 3 * 24 * 3600 ? DAY : HOUR;
  context.fillStyle = colour("quiet");
  const ticks = Math.min(5, Math.max(2, Math.floor((width - names) / TICK)));
  for (let tick = 0; tick < ticks; tick += 1) {
    const at = from + ((to - from) * tick) / (ticks - 1);
    context.textAlign = tick === 0 ? "left" : tick === ticks - 1 ? "right" : "center";
    context.fillText(written.format(at * 1000), x(at), height - AXIS / 2);
  }
  context.textAlign = "left";
}

/** What held when, as rows of a table. */
export function rowsOf(lanes: readonly Lane[]): readonly (readonly string[])[] {
  return lanes.flatMap(({ name, spans }) =>
    spans.map(({ from, to, words }) => [name, moment(from), moment(to), words]),
  );
}

function moment(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
