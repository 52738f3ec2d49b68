import { useCallback, useMemo } from "react";
import type uPlot from "uplot";
import { Chart } from "./Chart";
import { fillSpan, heightOf, LANE, type Lane, type Span, valuesOf } from "./lanes";
import { IN_ZONE, timeAxis } from "./TimeChart";
import type { Readings } from "./Tooltip";
import { momentOf } from "./times";
import { useTimeZoom } from "./timespan";
import { AXIS_PX, type Drawing, type Ink } from "./usePlot";

interface Props {
  readonly title: string;
  readonly lanes: readonly Lane[];
}

/** What held when, a lane for each thing that can hold; zoomed with the page's other charts. */
export function LaneChart({ title, lanes }: Props) {
  const places = useMemo(() => momentsOf(lanes), [lanes]);
  const { pointed, shown, zoom } = useTimeZoom(places[0] ?? 0, places.at(-1) ?? 0, true);
  const { from, to } = shown;
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        ...IN_ZONE,
        scales: { x: { range: () => [from, to] }, y: { range: () => [0, lanes.length] } },
        axes: [
          { ...axis, ...timeAxis(from, to), grid: { show: false } },
          {
            ...axis,
            size: AXIS_PX,
            grid: { show: false },
            splits: () => lanes.map((_lane, row) => lanes.length - row - 0.5),
            values: () => lanes.map(({ name }) => name),
          },
        ],
        series: [{}, { show: true, points: { show: false }, paths: () => null }],
        hooks: { draw: [(chart) => drawSpans(chart, lanes, colour)] },
      },
      data: [places, places.map(() => null)],
    }),
    [lanes, places, from, to],
  );
  const readAt = useCallback(
    (at: number): Readings => ({
      heading: momentOf(at),
      readings: lanes.map(({ name, spans }) => {
        const held = spans.find((span) => span.from <= at && at <= span.to);
        return held === undefined
          ? { label: name, value: "–" }
          : { label: name, value: held.words, colour: `--${held.tone}` };
      }),
      notes: [],
    }),
    [lanes],
  );
  const legend = useMemo(() => wordsOf(lanes), [lanes]);
  const values = useMemo(() => valuesOf(lanes), [lanes]);
  return (
    <Chart
      title={title}
      draw={draw}
      places={places}
      pointed={pointed}
      readAt={readAt}
      values={values}
      legend={legend.map(({ words, tone }) => ({ words, colour: `--${tone}` }))}
      zoom={zoom}
      spoken={lanes.map(({ name, spans }) => `${name}: ${shares(spans)}`).join("; ")}
      height={heightOf(lanes.length)}
    />
  );
}

function drawSpans(chart: uPlot, lanes: readonly Lane[], colour: (name: string) => string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const lane = bbox.height / lanes.length;
  lanes.forEach(({ spans }, row) => {
    for (const span of spans) {
      const left = chart.valToPos(span.from, "x", true);
      const width = chart.valToPos(span.to, "x", true) - left;
      fillSpan(ctx, span, { left, width, top: bbox.top + row * lane, scale: lane / LANE }, colour);
    }
  });
  ctx.restore();
}

/** When something began or ended to hold, ascending. */
function momentsOf(lanes: readonly Lane[]): readonly number[] {
  const moments = new Set(lanes.flatMap(({ spans }) => spans.flatMap(({ from, to }) => [from, to])));
  return [...moments].sort((one, other) => one - other);
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
