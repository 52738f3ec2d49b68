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

/** Who helped whom: each device once, on an ellipse; each pair once, with how its transfers ended. */
export function helpGraphOf(transfers: readonly Transfer[]): { members: readonly Member[]; bonds: readonly Bond[] } {
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
  const devices = [...names].sort(([, one], [, other]) => one.localeCompare(other));
  const radius = Math.max(120, (devices.length * SPACING) / (2 * Math.PI));
  return {
    members: devices.map(([device, name], index) => {
      const angle = (2 * Math.PI * index) / devices.length - Math.PI / 2;
      return { device, name, x: WIDER * radius * Math.cos(angle), y: radius * Math.sin(angle) };
    }),
    bonds: [...bonds.values()],
  };
}
