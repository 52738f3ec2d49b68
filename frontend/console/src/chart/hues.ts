/** Colours of the page for data, which say nothing of good or bad; people who see fewer colours tell them apart, too. */
export const HUES = ["--data-1", "--data-2", "--data-3", "--data-4", "--data-5", "--data-6"] as const;

/** The colour of the series at `index`; the seventh has that of the first. */
export function hueOf(index: number): string {
  return HUES[index % HUES.length] ?? HUES[0];
}
