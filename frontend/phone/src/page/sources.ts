/** Parts of the page for data of the phone's own; each is there only where the model takes such data. */
import type { Answers } from "../device/sources";
import type { Shown } from "../protocol";
import type { Tell } from "./classes";
import { MotionPart } from "./motion";
import type { Part } from "./owner";
import { PicturesPart } from "./pictures";
import { WordsPart } from "./words";

/** Holds what the owner is in the midst of: a recording, a text; so it is the same for as long as the page is open. */
export class SourceParts {
  private readonly motion: MotionPart;
  private readonly pictures: PicturesPart;
  private readonly words: WordsPart;

  constructor(tell: Tell) {
    this.motion = new MotionPart(tell);
    this.pictures = new PicturesPart(tell);
    this.words = new WordsPart(tell);
  }

  parts({ takes }: Shown): Part[] {
    if (takes === null) {
      this.motion.stop();
      return [];
    }
    const { motion, pictures, words, classes } = takes;
    return [
      ...(motion === null
        ? []
        : [this.part("motion", [motion, classes], () => this.motion.draw(motion.steps, classes))]),
      ...(pictures === null ? [] : [this.part("pictures", classes, () => this.pictures.draw(classes))]),
      ...(words === null ? [] : [this.part("words", null, () => this.words.draw())]),
    ];
  }

  answered(source: "motion" | "pictures", answers: Answers): void {
    this[source].answered(answers);
  }

  suggested(text: string, words: readonly string[]): void {
    this.words.suggested(text, words);
  }

  added(): void {
    this.words.added();
  }

  private readonly drawn = new Map<string, { readonly state: string; readonly element: HTMLElement }>();

  /** The same element as long as the state is the same, whatever else of the page is drawn anew. */
  private part(key: string, state: unknown, draw: () => HTMLElement): Part {
    const make = (): HTMLElement => {
      const told = JSON.stringify(state);
      const known = this.drawn.get(key);
      if (known?.state === told) return known.element;
      const element = draw();
      element.id = key;
      this.drawn.set(key, { state: told, element });
      return element;
    };
    return { key, state, make };
  }
}
