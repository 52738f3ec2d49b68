import { Group, Text, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef } from "react";
import { csvOf } from "../table/csv";
import classes from "./LaneChart.module.css";
import { Saveable } from "./Saveable";

export interface Span {
  /** Seconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly tone: "good" | "wait" | "bad" | "quiet";
}

export interface Lane {
  readonly name: string;
  /** One after the other. */
  readonly spans: readonly Span[];
}

interface Props {
  readonly title: string;
  readonly lanes: readonly Lane[];
}

const LANE = 26;
const BAR = 14;
const NAMES = 64;
const AXIS = 22;
/** Pixels that the name of a moment takes, with room beside it. */
const TICK = 105;
const DAY = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const HOUR = new Intl.DateTimeFormat("en", { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** What held when, a lane for each thing that can hold. */
export function LaneChart({ title, lanes }: Props) {
  const { ref, width } = useElementSize();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("light");
  const height = lanes.length * LANE + AXIS;
  const legend = useMemo(() => wordsOf(lanes), [lanes]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0) return;
    draw(context, lanes, width, height);
  }, [lanes, width, height, scheme]);

  const table = () =>
    csvOf(
      ["lane", "from", "to", "what"],
      lanes.flatMap(({ name, spans }) => spans.map((span) => [name, moment(span.from), moment(span.to), span.words])),
    );
  const spoken = lanes.map(({ name, spans }) => `${name}: ${shares(spans)}`);

  return (
    <Saveable title={title} picture={() => canvas.current ?? undefined} table={table} ref={ref}>
      <canvas
        ref={canvas}
        className={classes.canvas}
        style={{ width, height }}
        width={width * devicePixelRatio}
        height={height * devicePixelRatio}
        role="img"
        aria-label={`${title}. ${spoken.join("; ")}`}
      />
      <Group gap="md" mt={4} aria-hidden>
        {legend.map(({ words, tone }) => (
          <Text key={words} size="xs" component="span" c="var(--quiet)">
            <span className={classes.swatch} style={{ background: `var(--${tone})` }} /> {words}
          </Text>
        ))}
      </Group>
    </Saveable>
  );
}

function draw(context: CanvasRenderingContext2D, lanes: readonly Lane[], width: number, height: number): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const all = lanes.flatMap((lane) => lane.spans);
  const from = Math.min(...all.map((span) => span.from));
  const to = Math.max(...all.map((span) => span.to));
  const x = (at: number) => NAMES + ((at - from) / Math.max(1, to - from)) * (width - NAMES);
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px Inter, sans-serif";
  context.textBaseline = "middle";
  lanes.forEach(({ name, spans }, row) => {
    const top = row * LANE;
    context.fillStyle = colour("quiet");
    context.fillText(name, 0, top + LANE / 2);
    for (const span of spans) {
      context.globalAlpha = span.tone === "quiet" ? 0.35 : 1;
      context.fillStyle = colour(span.tone);
      context.fillRect(x(span.from), top + (LANE - BAR) / 2, Math.max(1, x(span.to) - x(span.from) - 0.5), BAR);
    }
    context.globalAlpha = 1;
  });
  const written = to - from > 3 * 24 * 3600 ? DAY : HOUR;
  context.fillStyle = colour("quiet");
  const ticks = Math.min(5, Math.max(2, Math.floor((width - NAMES) / TICK)));
  for (let tick = 0; tick < ticks; tick += 1) {
    const at = from + ((to - from) * tick) / (ticks - 1);
    context.textAlign = tick === 0 ? "left" : tick === ticks - 1 ? "right" : "center";
    context.fillText(written.format(at * 1000), x(at), height - AXIS / 2);
  }
  context.textAlign = "left";
}

/** Each thing that held, once. */
function wordsOf(lanes: readonly Lane[]): readonly Pick<Span, "words" | "tone">[] {
  return [...new Map(lanes.flatMap(({ spans }) => spans).map(({ words, tone }) => [words, { words, tone }])).values()];
}

/** How much of the time each thing held. */
function shares(spans: readonly Span[]): string {
  const lasted = new Map<string, number>();
  for (const { words, from, to } of spans) lasted.set(words, (lasted.get(words) ?? 0) + to - from);
  const whole = [...lasted.values()].reduce((sum, seconds) => sum + seconds, 0);
  return [...lasted].map(([words, seconds]) => `${words} ${Math.round((100 * seconds) / (whole || 1))} %`).join(", ");
}

function moment(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
