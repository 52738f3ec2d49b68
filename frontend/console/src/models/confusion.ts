/** Samples of one class that were taken for another, by their places among the labels. */
interface Mistake {
  readonly actual: number;
  readonly predicted: number;
  readonly samples: number;
}

/** A confusion matrix without its diagonal, most frequent mistakes first. */
export interface Confusion {
  /** Of each class. */
  readonly samples: readonly number[];
  readonly mistakes: readonly Mistake[];
  /** Samples whose mistakes are not among these. */
  readonly others: number;
}

/** What a version's metrics say of it; undefined where it was not measured. */
export function confusionOf(metrics: unknown): Confusion | undefined {
  const found = (metrics as { readonly confusion?: Confusion } | null)?.confusion;
  return found === undefined || !Array.isArray(found.samples) ? undefined : found;
}

/** Classes of which a matrix shows all; of more, the most frequent mistakes are listed. */
export const MOST_CLASSES = 11;

/** One class of a matrix: the share of its samples that were taken for each class. */
export interface MatrixRow {
  readonly name: string;
  readonly samples: number;
  readonly shares: readonly number[];
}

/** The whole matrix, a row for each class; undefined where there are too many classes, or mistakes that were left out. */
export function matrixOf(
  { samples, mistakes, others }: Confusion,
  labels: readonly string[],
): readonly MatrixRow[] | undefined {
  if (samples.length > MOST_CLASSES || others > 0) return undefined;
  return samples.map((count, actual) => {
    const own = mistakes.filter((one) => one.actual === actual);
    const wrong = own.reduce((sum, one) => sum + one.samples, 0);
    const taken = samples.map((_, predicted) =>
      predicted === actual ? count - wrong : (own.find((one) => one.predicted === predicted)?.samples ?? 0),
    );
    return {
      name: labels[actual] ?? String(actual),
      samples: count,
      shares: taken.map((one) => one / Math.max(1, count)),
    };
  });
}

/** One mistake of several versions, the baseline's first, each as the share of the class's samples; null: not measured. */
export interface MistakeLine {
  readonly actual: string;
  readonly predicted: string;
  readonly shares: readonly (number | null)[];
}

/**
 * The `most` mistakes that any of the versions makes most often, as a share of the class's samples. A mistake that is
 * not among those kept of a version is not known of it, unless all of its mistakes were kept.
 */
export function mistakesOf(
  confusions: readonly (Confusion | undefined)[],
  labels: readonly string[],
  most: number,
): readonly MistakeLine[] {
  const keys = new Set(
    confusions.flatMap((one) => one?.mistakes.map(({ actual, predicted }) => `${actual} ${predicted}`) ?? []),
  );
  const lines = [...keys].map((key) => {
    const [actual = 0, predicted = 0] = key.split(" ").map(Number);
    const shares = confusions.map((one) => shareOf(one, actual, predicted));
    return { actual: labels[actual] ?? String(actual), predicted: labels[predicted] ?? String(predicted), shares };
  });
  const greatest = ({ shares }: MistakeLine) => Math.max(...shares.map((share) => share ?? 0));
  return lines.sort((one, other) => greatest(other) - greatest(one)).slice(0, most);
}

function shareOf(confusion: Confusion | undefined, actual: number, predicted: number): number | null {
  if (confusion === undefined) return null;
  const found = confusion.mistakes.find((one) => one.actual === actual && one.predicted === predicted);
  if (found === undefined) return confusion.others > 0 ? null : 0;
  return found.samples / Math.max(1, confusion.samples[actual] ?? 0);
}
