import type { components } from "../api/schema";
import { t } from "../language/t";
import type { Dataset, Pair } from "./queries";

export type Fitting = components["schemas"]["Fitting"];

/** Those whose samples a pair's models can take. */
export function fittingOf(datasets: readonly Fitting[]): readonly Fitting[] {
  return datasets.filter(({ misfit }) => misfit === "");
}

/** Why there is none to choose; undefined: there is one. */
export function whyNoneFits(datasets: readonly Fitting[]): string | undefined {
  if (datasets.length === 0) return t`Upload a data set first, on the page of data sets.`;
  if (fittingOf(datasets).length > 0) return undefined;
  const [newest] = datasets as readonly [Fitting];
  return datasets.length === 1
    ? t`The only data set, ${newest.name}, does not fit: ${newest.misfit}.`
    : t`None of ${datasets.length} data sets fits. The newest is ${newest.name}: ${newest.misfit}.`;
}

/** That others are not offered; undefined: all are. */
export function leftOutOf(datasets: readonly Fitting[]): string | undefined {
  const others = datasets.length - fittingOf(datasets).length;
  if (others === 0) return undefined;
  return others === 1
    ? t`Another is left out: its samples do not fit the model.`
    : t`${others} others are left out: their samples do not fit the model.`;
}

/** The newest data set whose samples have the shape of the pair's; undefined: there is none. */
export function datasetFor(pair: Pair | undefined, datasets: readonly Dataset[]): Dataset | undefined {
  const wanted = shapesOf((pair?.spec as { readonly inputs?: unknown } | null | undefined)?.inputs);
  return datasets.find(({ inputs }) => shapesOf(inputs) === wanted);
}

function shapesOf(inputs: unknown): string {
  return JSON.stringify(Array.isArray(inputs) ? inputs.map(({ shape }) => shape) : []);
}
