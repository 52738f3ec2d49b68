/** The page of a device that has joined: what it does and why not, its samples, what left it, and what its owner decides. */
import { digits, PRIVACY_DEFAULT } from "../device/budget";
import type { PrivacyChoices } from "../device/choices";
import type { Receipt } from "../device/kept";
import type { Shown } from "../protocol";
import { agreedPart, askedPart, partsOf } from "./consent";
import { countedPart } from "./counted";
import { covering } from "./covering";
import { damagePart } from "./damage";
import { el, list, section } from "./dom";
import { formsPart } from "./forms";
import { type Limiting, limitsPart } from "./limits";
import { ownModelPart } from "./own_model";
import { peersPart } from "./peers";
import { questionPart } from "./questions";
import { receiptLines } from "./receipts";

const DAY_MS = 24 * 3600 * 1000;

export interface Asked extends Limiting {
  /** What the browser does not tell, and the owner has not said. */
  readonly toConfirm: readonly ("charging" | "network")[];
  readonly confirmed: readonly ("charging" | "network")[];
  readonly confirm: (what: "charging" | "network") => void;
}

const QUESTIONS = {
  charging: { ask: "It is on the charger", said: "You said that it is on the charger." },
  network: { ask: "It is on Wi-Fi", said: "You said that it is on Wi-Fi." },
} as const;

/** A part of the page; it is drawn anew only when its `state` changes, so that no tap and no focus is lost. */
export interface Part {
  readonly key: string;
  readonly state: unknown;
  readonly make: () => HTMLElement;
}

/** `sources` are the parts for data of the phone's own. */
export function ownerPage(shown: Shown, sources: readonly Part[], asked: Asked): Part[] {
  const { name, ending, samples: count, counts, finished, receipts, choices } = shown;
  const title: Part = { key: "name", state: name, make: () => el("h1", {}, name) };
  if (ending !== null) return [title, { key: "ended", state: ending, make: () => ended(shown, asked) }];
  const { progress, blockers, wait, linkProblem, isOnline } = shown;
  const moment = [
    progress,
    blockers,
    shown.budgetWait,
    shown.consentAsked,
    shown.agreed.at(-1)?.withdrawn,
    shown.sumWait,
    shown.questionWait,
    wait,
    linkProblem,
    isOnline,
    asked.toConfirm,
    asked.confirmed,
  ];
  return [
    title,
    { key: "now", state: moment, make: () => now(shown, asked) },
    ...askedPart(shown, asked.tell),
    ...damagedPart(shown, asked),
    ...ownModelPart(shown),
    ...formsPart(shown),
    ...peersPart(shown, asked.tell),
    ...questionPart(shown, asked.tell),
    ...sources,
    { key: "samples", state: [count, counts, shown.aside, shown.takes?.classes], make: () => samples(shown, asked) },
    { key: "told", state: [shown.told, choices.privacy], make: () => toldUnderNoise(shown, asked) },
    { key: "counted", state: [shown.answered, choices.questions], make: () => countedPart(shown, asked.tell) },
    { key: "rounds", state: finished, make: () => taken(shown) },
    { key: "receipts", state: receipts, make: () => left(receipts) },
    limitsPart(shown, asked),
    { key: "decide", state: [choices, choices.pausedUntil > Date.now()], make: () => decide(shown, asked) },
    agreedPart(shown, asked.tell),
  ];
}

function damagedPart({ damage }: Shown, { tell }: Asked): Part[] {
  if (damage.length === 0) return [];
  return [{ key: "damage", state: damage, make: () => damagePart(damage, () => tell({ do: "read-damage" })) }];
}

function now(shown: Shown, { toConfirm, confirmed, confirm }: Asked): HTMLElement {
  const { progress, blockers, wait, linkProblem, isOnline } = shown;
  const questions = toConfirm.map((what) =>
    el("button", { type: "button", className: "main", onclick: () => confirm(what) }, QUESTIONS[what].ask),
  );
  const said = confirmed.map((what) => QUESTIONS[what].said);
  const bar =
    progress?.stage === "training"
      ? el("progress", {
          max: progress.steps_total || 1,
          value: progress.steps_done ?? 0,
          ariaLabel: "Steps of training",
        })
      : null;
  const made = section(
    stateOf(shown),
    bar,
    blockers.length > 0 ? list(blockers.map(({ sentence }) => sentence)) : null,
    shown.sumWait === null ? null : el("p", {}, shown.sumWait.sentence),
    shown.questionWait === null ? null : el("p", {}, `To answer a question: ${shown.questionWait.sentence}`),
    shown.budgetWait === null ? null : el("p", {}, shown.budgetWait.sentence),
    shown.consentAsked === null
      ? null
      : el("p", {}, `${shown.consentAsked.federation} asks more than you have agreed to.`),
    ...takenBack(shown).map((words) => el("p", {}, `You have taken back: ${words}`)),
    blockers.length === 0 && progress === null && wait !== null && wait.sentence !== shown.budgetWait?.sentence
      ? el("p", {}, wait.sentence)
      : null,
    isOnline || linkProblem === null ? null : el("p", { className: "bad" }, linkProblem.sentence),
    questions.length > 0
      ? el("p", {}, "This browser does not tell. Your word counts until you leave this page, for four hours at most:")
      : null,
    ...questions,
    said.length > 0 ? el("p", { className: "quiet" }, said.join(" ")) : null,
    el(
      "p",
      { className: "quiet" },
      "Leave this page open on the charger: browsers stop pages that are closed or hidden.",
    ),
  );
  made.id = "now";
  return made;
}

/** In words. */
const takenBack = (shown: Shown): string[] => partsOf(shown).flatMap(({ words, isTaken }) => (isTaken ? [words] : []));

function stateOf({ progress, blockers, budgetWait, consentAsked, agreed }: Shown): string {
  if (progress?.stage === "training") return `Training: step ${progress.steps_done} of ${progress.steps_total}`;
  if (progress?.stage === "uploading") return "Sending what it learned";
  const isRefused = budgetWait !== null || consentAsked !== null || (agreed.at(-1)?.withdrawn ?? []).length > 0;
  if (blockers.length > 0 || (progress === null && isRefused)) return "It does not train now, because";
  return progress === null ? "Ready, and waiting for a round" : "Getting ready to train";
}

function samples(shown: Shown, { tell }: Asked): HTMLElement {
  const file = el("input", { type: "file", id: "file", accept: ".csv,.jsonl,.ndjson", className: "file" });
  file.addEventListener("change", () => {
    const [chosen] = file.files ?? [];
    if (chosen !== undefined) tell({ do: "add", name: chosen.name, file: chosen });
    file.value = "";
  });
  const counts = shown.counts.flatMap((count, label) =>
    count > 0 ? [`${shown.takes?.classes[label] ?? `class ${label}`}: ${count.toLocaleString()}`] : [],
  );
  const erase = el("button", { type: "button" }, "Delete all samples");
  erase.onclick = () => {
    const what = "All samples of this browser are deleted, also those without a label. Nobody has them anywhere else.";
    if (confirm(`${what} Go on?`)) tell({ do: "delete-samples" });
  };
  return section(
    `Samples in this browser: ${shown.samples.toLocaleString()}`,
    counts.length > 0 ? el("p", { className: "quiet" }, counts.join(", ")) : null,
    shown.aside > 0 ? el("p", {}, setAside(shown.aside)) : null,
    el(
      "label",
      { htmlFor: "file" },
      "Add samples from a CSV file with a column “label”, or from JSON lines; where the label is missing, you may be asked",
    ),
    file,
    shown.samples > 0 ? erase : null,
  );
}

const setAside = (count: number): string =>
  `Set aside, as the model does not know their label: ${count.toLocaleString()}. Nothing is learned from them. ` +
  "To correct them, delete all samples and add the corrected file.";

const OUTCOMES = { accepted: "counted", dropped: "not used", released: "given back" } as const;

function taken({ finished }: Shown): HTMLElement {
  const rounds = finished.map(
    ({ round, federation, outcome, at, sentence, privacy }) =>
      `${new Date(at).toLocaleString()}: round ${round} of ${federation}, ${OUTCOMES[outcome]}: ${sentence}` +
      (outcome === "accepted" && privacy !== undefined ? `; ${covering(privacy)}` : ""),
  );
  return section("Rounds", rounds.length === 0 ? el("p", { className: "quiet" }, "None yet.") : list(rounds));
}

/** What was told of the device under noise, of what its owner allows in all. */
function toldUnderNoise({ told, choices }: Shown, { tell }: Asked): HTMLElement {
  const { epsilon, allowedEpsilon, delta, federations, raised } = told;
  const most = `${digits(allowedEpsilon)} that you allow in all, at delta ${delta}`;
  const each = Object.entries(federations).map(([name, one]) => `${name} ${digits(one)}`);
  const sentence = !Number.isFinite(epsilon)
    ? "Its account of what was told under noise was damaged on the disk: nothing more is told."
    : epsilon === 0
      ? `Nothing was told under noise yet, of epsilon ${most}.`
      : `Told under noise, by its own account: epsilon ${digits(epsilon)} of ${most}. Alone: ${each.join(", ")}.`;
  const chosen = choices.privacy ?? PRIVACY_DEFAULT;
  const choose = (privacy: Partial<PrivacyChoices>): void => tell({ do: "choose", changes: { privacy } });
  const allowed = el("input", {
    type: "number",
    id: "allowed",
    min: "0",
    max: "1000",
    step: "any",
    value: `${allowedEpsilon}`,
  });
  allowed.onchange = () => {
    if (allowed.validity.valid && allowed.value !== "") choose({ epsilon: allowed.valueAsNumber });
  };
  const asks = chosen.raised === "ask";
  const words = asks ? "Do not ask me when one may tell more" : "Ask me when one may tell more";
  const made = section(
    "Told under noise",
    el("p", {}, sentence),
    ...raised.flatMap((one) => [
      el("p", {}, one.sentence),
      el(
        "button",
        { type: "button", className: "main", onclick: () => tell({ do: "agree", federation: one.federation }) },
        `Agree that ${one.federation} may tell more`,
      ),
    ]),
    el("label", { htmlFor: "allowed" }, "Epsilon that you allow in all; 0: nothing is told under noise any more"),
    allowed,
    el("button", { type: "button", onclick: () => choose({ raised: asks ? "accept" : "ask" }) }, words),
  );
  made.id = "told";
  return made;
}

function left(receipts: readonly Receipt[]): HTMLElement {
  const made = section(
    "What left this device",
    el("p", { className: "quiet" }, `The latest ${receipts.length}, newest first; open one to read it word by word.`),
    list(receiptLines(receipts)),
  );
  made.id = "receipts";
  return made;
}

function decide({ choices, name }: Shown, { tell }: Asked): HTMLElement {
  const pausedUntil = choices.pausedUntil;
  const pause = (until: number) => () => tell({ do: "choose", changes: { pausedUntil: until } });
  const buttons =
    pausedUntil > Date.now()
      ? [el("button", { type: "button", className: "main", onclick: pause(0) }, "Go on")]
      : [
          el("button", { type: "button", onclick: pause(Date.now() + DAY_MS) }, "Pause for a day"),
          el("button", { type: "button", onclick: pause(Number.MAX_SAFE_INTEGER) }, "Pause until I say so"),
        ];
  const leave = el("button", { type: "button" }, "Leave");
  leave.onclick = () => {
    if (confirm(`${name} leaves the platform. Its samples stay in this browser. Go on?`)) tell({ do: "leave" });
  };
  const forget = el("button", { type: "button" }, "Forget me");
  forget.onclick = () => {
    const what =
      `${name} leaves, and the platform deletes what it keeps of it: updates, figures, its name. Versions that have ` +
      "learned from it stay, unless its federation's plan promises models without it; the receipt says so. " +
      "Its samples stay in this browser. Go on?";
    if (confirm(what)) tell({ do: "be-forgotten" });
  };
  const all = el("button", { type: "button", onclick: () => tell({ do: "export" }) }, "Export all that is known of it");
  return section("What you decide", ...buttons, all, leave, forget);
}

function ended({ ending, name }: Shown, { tell }: Asked): HTMLElement {
  const again = el("button", { type: "button", onclick: () => tell({ do: "forget" }) }, "Forget the platform");
  return section(
    `${name} does not take part any more`,
    el("p", { role: "alert" }, ending?.sentence ?? ""),
    el("p", {}, "Its samples are still in this browser."),
    again,
  );
}
