/** Classes as the owner chooses them, and as the model answers. */
import type { Answers } from "../device/sources";
import type { Command } from "../protocol";
import { el } from "./dom";

export type Tell = (command: Command) => void;

/** A field in which the owner chooses one of the classes; `others` come first. */
export function classField(
  id: string,
  label: string,
  classes: readonly string[],
  others: readonly string[] = [],
): { readonly field: HTMLSelectElement; readonly label: HTMLLabelElement } {
  const field = el("select", { id });
  for (const [at, what] of [...others, ...classes].entries()) {
    field.append(el("option", { value: String(at - others.length) }, what));
  }
  return { field, label: el("label", { htmlFor: id }, label) };
}

/** In one sentence; blank where there is no answer. */
export function toldOf(answers: Answers): string {
  const [first, ...rest] = answers.map(({ what, share }) => `${what} (${Math.round(100 * share)} %)`);
  return first === undefined ? "" : `The model says: ${first}${rest.length > 0 ? `; else ${rest.join(", ")}` : ""}.`;
}
