/** How good a model's output is, sample by sample: a mirror of `coterie_learning.metrics`. */
import type { ModelSpec } from "../wire/bundle";
import type { Numbers } from "../wire/tensors";

export interface Measured {
  /** Without label smoothing or class weights, or the model's own; not finite where the output is not. */
  readonly losses: number[];
  /** Between 0 and 1; null where the task has no right and wrong. */
  readonly right: number[] | null;
}

/** `output` against `target`, both flattened, of `samples`; `own` are losses by a loss of the model's own. */
export function measure(
  model: ModelSpec,
  samples: number,
  output: Float32Array,
  target: Numbers,
  own: Float32Array | null,
): Measured {
  const rows = Array.from({ length: samples }, (_, row) =>
    measureRow(model, slice(output, row, samples), slice(target, row, samples)),
  );
  const losses = own === null ? rows.map(([loss]) => loss) : [...own];
  return { losses, right: model.task === "values" ? null : rows.map(([, right]) => right) };
}

function measureRow(
  { task, output, padding }: ModelSpec,
  given: readonly number[],
  wanted: readonly number[],
): [number, number] {
  switch (task) {
    case "classes":
      return [surprise(given, wanted[0] as number), Number(greatest(given) === wanted[0])];
    case "tokens": {
      const words = output.shape.at(-1) as number;
      const there = wanted.flatMap((token, place) =>
        token === padding ? [] : [{ token, logits: given.slice(place * words, (place + 1) * words) }],
      );
      const loss = there.reduce((sum, { token, logits }) => sum + surprise(logits, token), 0);
      const right = there.filter(({ token, logits }) => greatest(logits) === token).length;
      return [loss / Math.max(there.length, 1), right / Math.max(there.length, 1)];
    }
    case "labels": {
      const losses = given.map(
        (logit, at) => Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit))) - (wanted[at] as number) * logit,
      );
      const right = given.filter((logit, at) => logit > 0 === (wanted[at] as number) > 0.5).length;
      return [mean(losses), right / given.length];
    }
    case "values":
      return [mean(given.map((number, at) => (number - (wanted[at] as number)) ** 2)), 0];
  }
}

/** Minus the logarithm of the probability of class `label`. */
function surprise(logits: readonly number[], label: number): number {
  const most = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  return Math.log(sum) - ((logits[label] as number) - most);
}

/** The first of the greatest, as NumPy's argmax. */
const greatest = (numbers: readonly number[]): number => numbers.indexOf(Math.max(...numbers));

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

function slice(numbers: Numbers, row: number, rows: number): number[] {
  const width = numbers.length / rows;
  return Array.from({ length: width }, (_, at) => Number(numbers[row * width + at]));
}
