import type { Line } from "../components/SideBySide";
import { percent } from "../components/units";
import { inOrder, writtenOf } from "./figures";
import type { Comparison, Version } from "./queries";

export interface Compared {
  /** The baseline first. */
  readonly versions: readonly Version[];
  readonly figures: readonly Line[];
  readonly classes: readonly Line[];
}

type Figures = Comparison["figures"];

/** Comparisons of one baseline, which is the first of each, with several versions, as one. */
export function comparedOf(comparisons: readonly Comparison[]): Compared {
  const [first] = comparisons;
  if (first === undefined) return { versions: [], figures: [], classes: [] };
  const figures = linesOf(comparisons.map((one) => one.figures));
  return {
    versions: [first.first, ...comparisons.map(({ second }) => second)],
    figures: inOrder([...figures.keys()]).map((name) => {
      const { words, format } = writtenOf(name);
      return { name: words, values: figures.get(name) ?? [], format };
    }),
    classes: [...linesOf(comparisons.map((one) => one.classes))].map(([name, values]) => ({
      name,
      values,
      format: percent,
    })),
  };
}

function linesOf(all: readonly Figures[]): ReadonlyMap<string, readonly (number | null)[]> {
  const names = [...new Set(all.flatMap((figures) => figures.map(({ name }) => name)))];
  const byName = all.map((figures) => new Map(figures.map((figure) => [figure.name, figure])));
  return new Map(
    names.map((name) => {
      const found = byName.map((figures) => figures.get(name));
      const baseline = found.find((figure) => figure !== undefined && figure.first !== null)?.first ?? null;
      return [name, [baseline, ...found.map((figure) => figure?.second ?? null)]];
    }),
  );
}
