/** In what the owner lets the device be counted when the platform asks its fleet, and what became of its questions. */
import { QUESTIONS_DEFAULT } from "../device/fleet_answers";
import { type AgreedQuestions, SUBJECTS, type Subject } from "../learning/question";
import type { Command, Shown } from "../protocol";
import { el, list, section } from "./dom";

const WORDS: Readonly<Record<Subject, string>> = {
  classes: "how many samples of each class it has",
  samples: "how many samples it has",
  speed: "how long steps and uploads take",
  conditions: "whether it charges, its kind of network",
  hardware: "which kind of machine it is",
  problems: "why it does not train, and how its rounds ended",
};
const OUTCOMES = { answered: "counted", declined: "declined", uncounted: "not counted" } as const;

export function countedPart({ choices, answered }: Shown, tell: (command: Command) => void): HTMLElement {
  const agreed = choices.questions ?? QUESTIONS_DEFAULT;
  const choose = (questions: Partial<AgreedQuestions>): void => tell({ do: "choose", changes: { questions } });
  let { answer } = agreed;
  const subjects = SUBJECTS.map((subject) =>
    box(`subject-${subject}`, WORDS[subject], agreed.answer.includes(subject), (checked) => {
      // The next subject may be chosen before the page is drawn with this one.
      answer = SUBJECTS.filter((one) => (one === subject ? checked : answer.includes(one)));
      choose({ answer });
    }),
  );
  const fewest = el("input", { type: "number", id: "fewest", min: "3", max: "2500", value: `${agreed.minDevices}` });
  fewest.onchange = () => {
    if (fewest.validity.valid && fewest.value !== "") choose({ minDevices: fewest.valueAsNumber });
  };
  const made = section(
    "Be counted",
    el(
      "p",
      {},
      "The platform may ask its fleet. Only sums over many devices are ever read. You let this one be counted in:",
    ),
    ...subjects,
    box("exact", "also where the sum has no noise", agreed.withoutNoise, (withoutNoise) => choose({ withoutNoise })),
    el("label", { htmlFor: "fewest" }, "Devices that are summed, at least"),
    fewest,
    answered.length === 0 ? el("p", { className: "quiet" }, "It was asked nothing yet.") : list(answered.map(line)),
  );
  made.id = "counted";
  return made;
}

function box(id: string, label: string, checked: boolean, choose: (checked: boolean) => void): HTMLElement {
  const input = el("input", { type: "checkbox", id, checked });
  input.onchange = () => choose(input.checked);
  return el("p", { className: "choice" }, input, el("label", { htmlFor: id }, label));
}

function line({ at, federation, outcome, sentence, question }: Shown["answered"][number]): HTMLElement {
  const told = `${new Date(at).toLocaleString()}: ${federation}, ${OUTCOMES[outcome]}: ${sentence}`;
  return el("details", {}, el("summary", {}, told), el("pre", {}, JSON.stringify(question, null, 1)));
}
