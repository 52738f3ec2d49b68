import type { Lane, Span } from "../chart/lanes";
import { t } from "../language/t";

/** What a device told when something had changed on it. */
export interface Observed {
  readonly at: string;
  readonly conditions: unknown;
  readonly blockers: readonly { readonly code: string }[];
}

type Conditions = Readonly<Record<string, unknown>>;
type Reading = readonly [words: string, tone: Span["tone"]];

const LANES: readonly (readonly [name: string, read: (reported: Conditions, seen: Observed) => Reading])[] = [
  [t`trains`, (_told, seen) => (seen.blockers.length === 0 ? [t`it could train`, "good"] : [t`held back`, "wait"])],
  [t`power`, ({ charging }) => known(charging, { yes: [t`charging`, "good"], no: [t`on battery`, "wait"] })],
  [
    t`network`,
    ({ network }) =>
      known(network, {
        wifi: [t`Wi-Fi`, "good"],
        ethernet: [t`Ethernet`, "good"],
        metered: [t`metered`, "wait"],
        none: [t`no network`, "bad"],
      }),
  ],
  [t`use`, ({ idle }) => known(idle, { yes: [t`idle`, "good"], no: [t`in use`, "wait"] })],
];

function known(value: unknown, words: Readonly<Record<string, Reading>>): Reading {
  return (typeof value === "string" ? words[value] : undefined) ?? [t`unknown`, "quiet"];
}

/** A device's conditions as lanes of spans from the first observation until `now`; `seen` is youngest first. */
export function conditionLanes(seen: readonly Observed[], now: number): readonly Lane[] {
  const ordered = [...seen].reverse();
  return LANES.map(([name, read]) => {
    const spans: Span[] = [];
    ordered.forEach((one, index) => {
      const [words, tone] = read((one.conditions ?? {}) as Conditions, one);
      const next = ordered[index + 1];
      const from = Date.parse(one.at) / 1000;
      const to = next === undefined ? now : Date.parse(next.at) / 1000;
      const last = spans.at(-1);
      if (last !== undefined && last.words === words) spans[spans.length - 1] = { ...last, to };
      else spans.push({ from, to, words, tone });
    });
    return { name, spans };
  });
}
