import type { Transfer } from "./queries";

export interface Member {
  readonly device: string;
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

export interface Bond {
  readonly helper: string;
  readonly target: string;
  readonly kept: number;
  readonly undone: number;
  readonly open: number;
}

const SPACING = 80;
/** Pages are wider than high, and so are names. */
const WIDER = 2.2;

/** Pairs that a picture can show; the strongest are drawn. */
const MOST_BONDS = 60;

interface HelpGraph {
  readonly members: readonly Member[];
  readonly bonds: readonly Bond[];
  /** Pairs that are not drawn. */
  readonly more: number;
}

/** Who helped whom: each device once, on an ellipse; each pair once, those with most transfers, with how these ended. */
export function helpGraphOf(transfers: readonly Transfer[], most = MOST_BONDS): HelpGraph {
  const names = new Map<string, string>();
  const bonds = new Map<string, Bond>();
  for (const { helper, helper_name, target, target_name, state } of transfers) {
    names.set(helper, helper_name);
    names.set(target, target_name);
    const key = `${helper} ${target}`;
    const known = bonds.get(key) ?? { helper, target, kept: 0, undone: 0, open: 0 };
    const outcome = state === "kept" ? "kept" : state === "undone" ? "undone" : "open";
    bonds.set(key, { ...known, [outcome]: known[outcome] + 1 });
  }
  const total = ({ kept, undone, open }: Bond) => kept + undone + open;
  const drawn = [...bonds.values()].sort((one, other) => total(other) - total(one)).slice(0, most);
  const shown = new Set(drawn.flatMap(({ helper, target }) => [helper, target]));
  const devices = [...names]
    .filter(([device]) => shown.has(device))
    .sort(([, one], [, other]) => one.localeCompare(other));
  const radius = Math.max(120, (devices.length * SPACING) / (2 * Math.PI));
  return {
    members: devices.map(([device, name], index) => {
      const angle = (2 * Math.PI * index) / devices.length - Math.PI / 2;
      return { device, name, x: WIDER * radius * Math.cos(angle), y: radius * Math.sin(angle) };
    }),
    bonds: drawn,
    more: bonds.size - drawn.length,
  };
}
