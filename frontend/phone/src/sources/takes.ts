/** Which data of a phone's own a model takes: a pair says so by the name, the type and the shape of its one input. */
import { classesOf, type Manifest } from "../wire/bundle";

export interface PictureShape {
  readonly channels: 1 | 3;
  readonly height: number;
  readonly width: number;
}

/** null: the model does not take that. */
export interface Takes {
  /** Accelerations in a window, at 50 Hz: `acceleration` float32 [3, steps], in g, gravity included. */
  readonly motion: { readonly steps: number } | null;
  /** `picture` float32 [1 or 3, height, width], each number 0 to 1. */
  readonly pictures: PictureShape | null;
  /** Words before the one that is to follow: `words` int64 [before]; the pair's labels are the words that it knows. */
  readonly words: { readonly before: number } | null;
  /** What each class is called. */
  readonly classes: readonly string[];
}

const NOTHING = { motion: null, pictures: null, words: null };

export function takesOf({ model, labels }: Pick<Manifest, "model" | "labels">): Takes {
  const classes = Array.from({ length: classesOf(model) }, (_, label) => labels[label] ?? `class ${label}`);
  const [input, ...more] = model.inputs;
  if (input === undefined || more.length > 0 || classes.length === 0 || model.length !== undefined) {
    return { ...NOTHING, classes };
  }
  const { name, dtype, shape } = input;
  const [first = 0, second = 0, third = 0] = shape;
  const is = (called: string, type: string, axes: number): boolean =>
    name === called && dtype === type && shape.length === axes && shape.every((size) => size > 0);
  const isColoured = first === 1 || first === 3;
  const namesWords = labels.length === classes.length;
  return {
    motion: is("acceleration", "float32", 2) && first === 3 ? { steps: second } : null,
    pictures: is("picture", "float32", 3) && isColoured ? { channels: first, height: second, width: third } : null,
    words: is("words", "int64", 1) && namesWords ? { before: first } : null,
    classes,
  };
}
