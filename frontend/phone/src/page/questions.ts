/** What the owner is asked about a sample, on the page of a device that has joined. */
import type { LabelsShown, Question } from "../device/questions";
import { ASK_POLICY } from "../learning/labelling";
import type { Command, Shown } from "../protocol";
import { el, section } from "./dom";
import type { Part } from "./owner";

const DAY_MS = 24 * 3600 * 1000;
const NUMBERS_SHOWN = 8;
type Tell = (command: Command) => void;

/** None where there is nothing to ask and nothing was. */
export function questionPart(shown: Shown, tell: Tell): Part[] {
  const { labels, choices } = shown;
  if (labels.unlabelled + labels.asked === 0 && labels.question === null) return [];
  return [{ key: "labels", state: [labels, choices.asks], make: () => questions(shown, tell) }];
}

function questions({ labels }: Shown, tell: Tell): HTMLElement {
  const { question, unlabelled, asked, snoozedUntil, canUndo, perDay, left } = labels;
  const snooze = (until: number) => () => tell({ do: "snooze-questions", until });
  const isSnoozed = Date.now() < snoozedUntil;
  const most = (per_day: number) => () => tell({ do: "choose", changes: { asks: { per_day } } });
  const made = section(
    "What is this?",
    ...(question === null ? [el("p", {}, whyNone(labels))] : asking(question, tell)),
    canUndo ? button("Undo the last answer", () => tell({ do: "undo-answer" })) : null,
    isSnoozed ? button("Ask me again", snooze(0)) : button("Not for a day", snooze(Date.now() + DAY_MS)),
    perDay === 0
      ? button(`Ask me ${ASK_POLICY.per_day} times a day at most`, most(ASK_POLICY.per_day))
      : button("Never ask me", most(0)),
    el(
      "p",
      { className: "quiet" },
      `${unlabelled.toLocaleString()} samples have no label, ${asked.toLocaleString()} have the one that you said. ` +
        `At most ${left} more questions today, about what the model is least certain of.`,
    ),
  );
  made.id = "labels";
  return made;
}

function whyNone({ unlabelled, snoozedUntil, perDay, left }: LabelsShown): string {
  if (unlabelled === 0) return "Nothing to ask.";
  if (perDay === 0) return "You are never asked.";
  if (Date.now() < snoozedUntil) return `Nothing is asked before ${new Date(snoozedUntil).toLocaleString()}.`;
  return left === 0 ? "Nothing more for now." : "Nothing to ask before the device holds a model that fits.";
}

function asking(question: Question, tell: Tell): HTMLElement[] {
  const answer = (label: number | null) => () => tell({ do: "answer-question", question: question.id, label });
  const options = el("div", {}, ...question.options.map((name, label) => button(name, answer(label))));
  options.setAttribute("role", "group");
  options.ariaLabel = "What is this?";
  return [
    question.picture === null ? el("p", {}, numbersOf(question.x)) : pictureOf(question.x, question.picture),
    options,
    button("I do not know", answer(null)),
  ];
}

function numbersOf(x: readonly number[]): string {
  const shown = x.slice(0, NUMBERS_SHOWN).map((number) => String(Number(number.toPrecision(4))));
  return shown.join(", ") + (x.length > NUMBERS_SHOWN ? ", …" : "");
}

function pictureOf(x: readonly number[], [channels, height, width]: readonly [number, number, number]): HTMLElement {
  const canvas = el("canvas", { width, height, className: "sample" });
  canvas.setAttribute("role", "img");
  canvas.ariaLabel = "The sample that is asked about";
  const [least, most] = x.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [0, 0]);
  const pixels = new ImageData(width, height);
  for (let place = 0; place < width * height; place += 1) {
    for (let colour = 0; colour < 3; colour += 1) {
      const number = x[(channels === 3 ? colour * width * height : 0) + place] ?? 0;
      pixels.data[4 * place + colour] = (255 * (number - least)) / (most - least || 1);
    }
    pixels.data[4 * place + 3] = 255;
  }
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}

const button = (label: string, onclick: () => void): HTMLElement => el("button", { type: "button", onclick }, label);
