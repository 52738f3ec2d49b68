/** In which form the model answers here, and how quick each form is. */

import type { KnownForms } from "../device/kept";
import type { Shown } from "../protocol";
import { FLOAT32, quantileS } from "../wire/latency";
import { list, section } from "./dom";
import type { Part } from "./owner";

/** None where the platform has no smaller form of the version that the device holds. */
export function formsPart({ forms }: Shown): Part[] {
  return forms === null ? [] : [{ key: "forms", state: forms, make: () => made(forms) }];
}

function made(known: KnownForms): HTMLElement {
  const part = section("How quickly the model answers", list(sentences(known)));
  part.id = "forms";
  return part;
}

export function sentences({ forms, refused, chosen }: KnownForms): string[] {
  const told = Object.entries(forms).map(([name, counts]) => {
    const [half, most] = [quantileS(counts, 0.5) ?? 0, quantileS(counts, 0.99) ?? 0];
    const what = name === FLOAT32 ? "The whole model" : `Its smaller form ${name}`;
    return `${what} takes ${shown(half)}, and 99 times of 100 at most ${shown(most)}${name === chosen ? "; it answers" : ""}.`;
  });
  const kept = Object.entries(refused).map(([name, why]) => `Its smaller form ${name} does not run here: ${why}.`);
  return [...told, ...kept];
}

const shown = (seconds: number): string =>
  seconds < 1e-3 ? `${(1e6 * seconds).toFixed(0)} µs` : `${(1e3 * seconds).toFixed(1)} ms`;
