/** What the owner has agreed to, and what a plan asks beyond it. */
import type { Scope } from "../device/consent";
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

export function agreedPart({ agreed }: Shown): Part {
  const editions = [...agreed].reverse().map(({ at, read }) => {
    const when = new Date(at).toLocaleString();
    return el("details", {}, el("summary", {}, when), el("pre", {}, read));
  });
  const make = (): HTMLElement => {
    const made = section(
      "What you have agreed to",
      el("p", { className: "quiet" }, "Newest first; open one to read it as you read it then."),
      list(editions),
    );
    made.id = "agreed";
    return made;
  };
  return { key: "agreed", state: agreed, make };
}
