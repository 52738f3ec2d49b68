import type { RoundEvent } from "./queries";

/** What one device did from one moment to another, as shares of the round's time. */
export interface Span {
  readonly state: string;
  readonly from: number;
  readonly to: number;
  readonly sentence: string;
}

export interface Lane {
  readonly device: string;
  readonly name: string;
  readonly spans: readonly Span[];
  /** How its part ended, or where it stands. */
  readonly last: string;
  readonly why: string;
}

const ENDS = new Set(["delivered", "released", "dropped", "rejected"]);

/** A line for each device, cut into what it did; events come in the order in which they happened. */
export function lanesOf(events: readonly RoundEvent[]): readonly Lane[] {
  const times = events.map((event) => Date.parse(event.at));
  const start = Math.min(...times);
  const length = Math.max(1, Math.max(...times) - start);
  const share = (at: string) => (Date.parse(at) - start) / length;
  const byDevice = new Map<string, RoundEvent[]>();
  for (const event of events) {
    if (event.device === null) continue;
    const known = byDevice.get(event.device);
    if (known === undefined) byDevice.set(event.device, [event]);
    else known.push(event);
  }
  return [...byDevice].map(([device, own]) => {
    const last = own[own.length - 1];
    return {
      device,
      name: own[0]?.device_name ?? device,
      spans: own.flatMap((event, index) => {
        if (ENDS.has(event.kind)) return [];
        const next = own[index + 1];
        return [
          {
            state: event.kind,
            from: share(event.at),
            to: next === undefined ? 1 : share(next.at),
            sentence: event.reason_sentence,
          },
        ];
      }),
      last: last?.kind ?? "",
      why: last?.reason_sentence ?? "",
    };
  });
}
