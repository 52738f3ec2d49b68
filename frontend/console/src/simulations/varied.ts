import { differences, valueWords } from "../plan/difference";
import { kindWords, slotWords } from "../plan/kinds";
import { labelOf } from "../plan/schema";
import type { Run } from "./queries";

type Wanted = Run["wanted"];

/** In what runs of a fleet differ from one another, by the run: "learning rate 0.1, seed 1". */
export function variedOf(runs: readonly Pick<Run, "id" | "fleet" | "wanted">[]): ReadonlyMap<string, string> {
  const paths = new Map<string, Set<string>>();
  const first = new Map<string, Wanted>();
  for (const { fleet, wanted } of runs) {
    const with_ = first.get(fleet);
    if (with_ === undefined) {
      first.set(fleet, wanted);
      paths.set(fleet, new Set());
    } else {
      for (const { path } of differences(with_, wanted)) paths.get(fleet)?.add(path);
    }
  }
  return new Map(
    runs.map(({ id, fleet, wanted }) => [
      id,
      [...(paths.get(fleet) ?? [])]
        .sort()
        .map((path) => told(wanted, path))
        .join(", "),
    ]),
  );
}

/** The value at a path, after the last part of its name. */
function told(wanted: Wanted, path: string): string {
  const parts = path.split(".");
  const value = parts.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], wanted);
  const name = parts.at(-1) ?? "";
  return `${name === "kind" ? slotWords(parts.at(-2) ?? "") : labelOf(name)} ${valueWords(path, value)}`;
}

/** The kinds that say most of a plan: how devices learn, who is asked when, and how updates meet. */
export function kindsOf(plan: Readonly<Record<string, unknown>>): string {
  const kinds = ["local", "pace", "merge"].flatMap((slot) => (plan[slot] as { kind?: string } | undefined)?.kind ?? []);
  return kinds.map(kindWords).join(", ");
}
