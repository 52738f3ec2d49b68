import type * as chart from "../chart/lanes";
import { toneOf, wordOf } from "../components/State";
import { t } from "../language/t";
import type { RoundEvent } from "./queries";

/** What one device did from one moment to another, in seconds since 1970. */
export interface Span {
  readonly state: string;
  readonly from: number;
  readonly to: number;
  readonly sentence: string;
}

export interface Lane {
  /** Blank: the round itself. */
  readonly device: string;
  readonly name: string;
  readonly spans: readonly Span[];
  /** How its part ended, or where it stands. */
  readonly last: string;
  readonly why: string;
}

/** A round from its first event to its last. */
export interface Replayed {
  readonly from: number;
  readonly to: number;
  readonly lanes: readonly Lane[];
}

const ENDS = new Set(["delivered", "released", "dropped", "rejected", "published", "abandoned"]);

/** A line for the round and for each device, cut into what it did; events come in the order in which they happened. */
export function replayOf(events: readonly RoundEvent[]): Replayed {
  const times = events.map((event) => seconds(event.at));
  const from = Math.min(...times);
  const to = Math.max(...times);
  const byDevice = new Map<string, RoundEvent[]>();
  for (const event of events) {
    const device = event.device ?? "";
    const known = byDevice.get(device);
    if (known === undefined) byDevice.set(device, [event]);
    else known.push(event);
  }
  const lanes = [...byDevice].map(([device, own]) => {
    const last = own[own.length - 1];
    return {
      device,
      name: own[0]?.device_name ?? t`the round`,
      spans: own.flatMap((event, index) => {
        if (ENDS.has(event.kind)) return [];
        const next = own[index + 1];
        const end = next === undefined ? to : seconds(next.at);
        return [{ state: event.kind, from: seconds(event.at), to: end, sentence: event.reason_sentence }];
      }),
      last: last?.kind ?? "",
      why: last?.reason_sentence ?? "",
    };
  });
  return { from, to, lanes };
}

const OPACITIES: Readonly<Record<string, number>> = {
  training: 1,
  merging: 1,
  uploading: 0.6,
  accepted: 0.7,
  open: 0.7,
};

/** How a state looks in a replay; those of one colour are told apart by its strength. */
export function lookOf(state: string): { readonly colour: string; readonly opacity: number } {
  return { colour: `--${toneOf(state)}`, opacity: OPACITIES[state] ?? 0.3 };
}

/** The same as lanes of a chart. */
export function drawn(lanes: readonly Lane[]): readonly chart.Lane[] {
  return lanes.map(({ name, spans }) => ({
    name,
    spans: spans.map(({ state, from, to }) => ({
      from,
      to,
      words: wordOf(state),
      tone: toneOf(state),
      opacity: lookOf(state).opacity,
    })),
  }));
}

function seconds(at: string): number {
  return Date.parse(at) / 1000;
}
