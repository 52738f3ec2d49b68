import type { Dataset, Pair } from "./queries";

/** The newest data set whose samples have the shape of the pair's; undefined: there is none. */
export function datasetFor(pair: Pair | undefined, datasets: readonly Dataset[]): Dataset | undefined {
  const wanted = shapesOf((pair?.spec as { readonly inputs?: unknown } | null | undefined)?.inputs);
  return datasets.find(({ inputs }) => shapesOf(inputs) === wanted);
}

function shapesOf(inputs: unknown): string {
  return JSON.stringify(Array.isArray(inputs) ? inputs.map(({ shape }) => shape) : []);
}
