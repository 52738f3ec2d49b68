import { Group, Text, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef } from "react";
import { csvOf } from "../table/csv";
import classes from "./LaneChart.module.css";
import { drawLanes, heightOf, type Lane, rowsOf, type Span } from "./lanes";
import { Saveable } from "./Saveable";

interface Props {
  readonly title: string;
  readonly lanes: readonly Lane[];
}

/** Pixels of a lane's name. */
const NAMES = 64;

/** What held when, a lane for each thing that can hold. */
export function LaneChart({ title, lanes }: Props) {
  const { ref, width } = useElementSize();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("light");
  const height = heightOf(lanes.length);
  const legend = useMemo(() => wordsOf(lanes), [lanes]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page when the scheme changes
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0) return;
    drawLanes(context, lanes, { width, names: NAMES });
  }, [lanes, width, scheme]);

  const table = () => csvOf(["lane", "from", "to", "what"], rowsOf(lanes));
  const spoken = lanes.map(({ name, spans }) => `${name}: ${shares(spans)}`);

  return (
    <Saveable
      title={title}
      picture={() => canvas.current ?? undefined}
      legend={legend.map(({ words, tone }) => ({ words, colour: `--${tone}` }))}
      table={table}
      ref={ref}
    >
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

/** Each thing that held, once. */
function wordsOf(lanes: readonly Lane[]): readonly Pick<Span, "words" | "tone">[] {
  return [...new Map(lanes.flatMap(({ spans }) => spans).map(({ words, tone }) => [words, { words, tone }])).values()];
}

/** How much of the time each thing held. */
function shares(spans: readonly Span[]): string {
  const lasted = new Map<string, number>();
  for (const { words, from, to } of spans) lasted.set(words, (lasted.get(words) ?? 0) + to - from);
  const whole = [...lasted.values()].reduce((sum, seconds) => sum + seconds, 0);
  return [...lasted].map(([words, seconds]) => `${words} ${Math.round((100 * seconds) / (whole || 1))}%`).join(", ");
}
