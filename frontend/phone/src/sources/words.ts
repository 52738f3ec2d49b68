/** Typed text as samples of which word follows which: as the reader of the recipe `next_word`. */

const SENTENCE_ENDS = /[.!?\n]+/;
const LETTER = String.raw`[\p{L}\p{Nl}\p{No}]`;
const WORD = new RegExp(`${LETTER}+(?:['’]${LETTER}+)*`, "gu");
const LAST_WORD = new RegExp(`${LETTER}+(?:['’]${LETTER}*)*$`, "u");
/** Stands for a word that the model does not know, and before a sentence's first. */
const UNKNOWN = 0;

export interface Following {
  /** Numbers of the words before, as many as the model takes. */
  readonly x: Float32Array;
  readonly label: number;
}

/** What the model knows: by each word its number, from 1 on; number 0 is none. */
export class Vocabulary {
  private readonly numbers: ReadonlyMap<string, number>;

  constructor(readonly words: readonly string[]) {
    this.numbers = new Map(words.slice(1).map((word, at) => [word.toLowerCase(), at + 1]));
  }

  numbersOf(sentence: string): number[] {
    return (sentence.match(WORD) ?? []).map((word) => this.numbers.get(word.toLowerCase()) ?? UNKNOWN);
  }
}

/** A sample for each word of `text` that is known, and how many are not. */
export function followings(
  text: string,
  vocabulary: Vocabulary,
  before: number,
): { samples: Following[]; unknown: number } {
  const samples: Following[] = [];
  let unknown = 0;
  for (const sentence of text.split(SENTENCE_ENDS)) {
    const numbers = vocabulary.numbersOf(sentence);
    for (const [place, label] of numbers.entries()) {
      if (label === UNKNOWN) unknown += 1;
      else samples.push({ x: lastOf(numbers.slice(0, place), before), label });
    }
  }
  return { samples, unknown };
}

/** What is known where the next word is to be suggested: the words before it, and the letters of it that are there. */
export function typed(text: string, vocabulary: Vocabulary, before: number): { x: Float32Array; begun: string } {
  const begun = text.match(LAST_WORD)?.[0] ?? "";
  const sentence =
    text
      .slice(0, text.length - begun.length)
      .split(SENTENCE_ENDS)
      .at(-1) ?? "";
  return { x: lastOf(vocabulary.numbersOf(sentence), before), begun };
}

/** The `most` likeliest words that go on from the letters `begun`. */
export function suggested(output: readonly number[], words: readonly string[], begun: string, most: number): string[] {
  const letters = begun.toLowerCase();
  const places = words.flatMap((word, at) => (at !== UNKNOWN && word.toLowerCase().startsWith(letters) ? [at] : []));
  places.sort((a, b) => (output[b] ?? 0) - (output[a] ?? 0));
  return places.slice(0, most).map((at) => words[at] as string);
}

function lastOf(numbers: readonly number[], count: number): Float32Array {
  const found = new Float32Array(count);
  const last = numbers.slice(-count);
  found.set(last, count - last.length);
  return found;
}
