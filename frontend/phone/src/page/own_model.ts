/** How the device's own model does beside what all learned together. */
import type { Shown } from "../protocol";
import { el, section } from "./dom";
import type { Part } from "./owner";

/** None where the plan has the device keep no model of its own, or it has not been trained yet. */
export function ownModelPart({ tuned, tuning, sendsOwn, peers }: Shown): Part[] {
  if (tuned === null && tuning === null) return [];
  const leaves = whatLeaves(peers !== null, sendsOwn);
  return [{ key: "own-model", state: [tuned, tuning, leaves], make: () => ownModel({ tuned, tuning }, leaves) }];
}

/** `helps`: the plan has it give parts of the model to others; `sends`: rounds train that model. */
export function whatLeaves(helps: boolean, sends: boolean): string {
  if (!helps && !sends) return "That model never leaves it.";
  return [
    ...(sends ? ["What it learns is sent with each round, but for layers that the plan has stay here."] : []),
    ...(helps ? ["Parts of that model go to devices that ask for help."] : []),
  ].join(" ");
}

function ownModel({ tuned, tuning }: Pick<Shown, "tuned" | "tuning">, leaves: string): HTMLElement {
  const made = section(
    "A model of your own",
    el("p", {}, `The device trains what all learned together further on your samples alone. ${leaves}`),
    tuned === null ? null : el("p", {}, compared(tuned)),
    tuning === null
      ? null
      : el("p", { className: "quiet" }, `Training it: step ${tuning.done} of at most ${tuning.total}.`),
  );
  made.id = "own-model";
  return made;
}

function compared({ answers, samples, versionAccuracy, ownAccuracy }: NonNullable<Shown["tuned"]>): string {
  const who = answers ? "Your own model answers" : "What all learned together answers, since your own is no better";
  const on = `of ${samples.toLocaleString()} samples that neither has learned here`;
  if (versionAccuracy === null || ownAccuracy === null) return `${who}, by the loss ${on}.`;
  const share = (one: number): string => `${(100 * one).toFixed(1)} %`;
  const own = answers ? `, your own ${share(ownAccuracy)}` : "";
  return `${who}: ${on}, the model of all has ${share(versionAccuracy)} right${own}.`;
}
