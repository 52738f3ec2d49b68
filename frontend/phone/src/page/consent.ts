/** What the owner has agreed to, and what a plan asks beyond it. */
import type { Scope } from "../device/consent";
import type { Source } from "../device/kept";
import type { Command, Shown } from "../protocol";
import { el, list, section } from "./dom";
import { helpOf, privacyOf } from "./invitation";
import type { Part } from "./owner";

/** The agent's own. */
export const WORDS: Readonly<Record<Scope, string>> = {
  readable: privacyOf("none"),
  noised: privacyOf("local_noise"),
  summed: privacyOf("secure_aggregation"),
  help: helpOf("cartel") ?? "",
};

/** The question comes first on the page, what was agreed to last. */
export function askedPart({ consentAsked }: Shown, tell: (command: Command) => void): Part[] {
  if (consentAsked === null) return [];
  const { federation, scopes } = consentAsked;
  const title = `${federation} asks more than you have agreed to`;
  const words = scopes.map((one) => WORDS[one]);
  const make = (): HTMLElement => {
    const read = [title, ...words].join("\n");
    const agree = el("button", { type: "button", className: "main" }, "Agree");
    agree.onclick = () => tell({ do: "consent", agreed: { scopes, read } });
    const made = section(
      title,
      list(words),
      el("p", {}, "Your samples never leave. Until you agree, your device takes no part in it."),
      agree,
    );
    made.id = "asked";
    return made;
  };
  return [{ key: "asked", state: consentAsked, make }];
}

const SOURCE_WORDS: Readonly<Record<Source, string>> = {
  motion: "Movements that you record are learned from.",
  words: "What you type in this page is learned from.",
  pictures: "Pictures that you pick are learned from.",
  files: "Samples of files that you add are learned from.",
};
/** The agent's own. */
export const LABEL_WORDS = "You are asked about samples whose label nobody knows, and your answers are learned from.";

/** A part that the owner may take back. */
interface OwnersPart {
  readonly part: string;
  readonly words: string;
  readonly isTaken: boolean;
}

/** All parts that the owner can take back, or has. */
export function partsOf({ agreed, federations, takes }: Pick<Shown, "agreed" | "federations" | "takes">): OwnersPart[] {
  const last = agreed.at(-1);
  const withdrawn = last?.withdrawn ?? [];
  const named = withdrawn.flatMap((part) => (part.startsWith("federation:") ? [part.slice("federation:".length)] : []));
  const sources: Source[] = [
    ...(takes?.motion ? ["motion" as const] : []),
    ...(takes?.words ? ["words" as const] : []),
    ...(takes?.pictures ? ["pictures" as const] : []),
    "files",
  ];
  const known: [string, string][] = [
    ...[...new Set([...federations, ...named])]
      .sort()
      .map((name): [string, string] => [`federation:${name}`, `Your device takes part in ${name}.`]),
    ...(last?.scopes ?? []).map((scope): [string, string] => [scope, WORDS[scope]]),
    ...sources.map((source): [string, string] => [`source:${source}`, SOURCE_WORDS[source]]),
    ["labels", LABEL_WORDS],
  ];
  return last === undefined ? [] : known.map(([part, words]) => ({ part, words, isTaken: withdrawn.includes(part) }));
}

function changed({ part, words, isTaken }: OwnersPart, tell: (command: Command) => void): HTMLElement {
  const label = isTaken ? "Give again" : "Take back";
  const button = el("button", { type: "button", ariaLabel: `${label}: ${words}` }, label);
  const read = isTaken ? `You have given this again:\n- ${words}` : `You have taken this back:\n- ${words}`;
  button.onclick = () => tell({ do: "change-consent", part, taken: !isTaken, read });
  return el("p", {}, isTaken ? `Taken back: ${words} ` : `${words} `, button);
}

export function agreedPart(shown: Shown, tell: (command: Command) => void): Part {
  const { agreed } = shown;
  const parts = partsOf(shown);
  const editions = [...agreed].reverse().map(({ at, read }) => {
    const when = new Date(at).toLocaleString();
    return el("details", {}, el("summary", {}, when), el("pre", {}, read));
  });
  const make = (): HTMLElement => {
    const made = section(
      "What you have agreed to",
      parts.length === 0
        ? null
        : el("p", { className: "quiet" }, "You can take back each part without leaving, and give it again."),
      ...parts.map((part) => changed(part, tell)),
      el("p", { className: "quiet" }, "As you have said it, newest first; open one to read it as you read it then."),
      list(editions),
    );
    made.id = "agreed";
    return made;
  };
  return { key: "agreed", state: [agreed, parts], make };
}
