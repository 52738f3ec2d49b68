/** What became of a device that its owner had forgotten, as the platform's receipt says it. */
import type { ForgetNews } from "../wire/messages";
import { el, list, section } from "./dom";

const shown = (at: string): string => (at === "" ? "" : new Date(at).toLocaleString());

export function forgottenPart(news: ForgetNews, readAgain: () => void): HTMLElement {
  const { receipt, done, sentence, asked_at, done_at, taken_out, removed, rebuilt } = news;
  const rows = Object.entries(removed).map(
    ([what, count]) => `${what.replaceAll("_", " ")}: ${count.toLocaleString()}`,
  );
  const made = section(
    "The device of this browser that was forgotten",
    el("p", {}, done ? `Done ${shown(done_at)}: ${sentence}.` : `Not done yet: ${sentence}.`),
    el(
      "p",
      {},
      `Receipt ${receipt}, asked for ${shown(asked_at)}. Keep the number: whoever has it may ask how far it is.`,
    ),
    el("p", {}, `Updates that went into no merge any more: ${taken_out.toLocaleString()}.`),
    rows.length === 0 ? null : el("details", {}, el("summary", {}, "Rows that were removed"), list(rows)),
    el("h3", {}, "Models made again without it"),
    rebuilt.length === 0
      ? el("p", {}, none(done, "None: no plan that it had a part in promises that."))
      : list(rebuilt.map(rebuiltLine)),
    el("h3", {}, "Versions known to hold updates of it"),
    ...holding(news),
    done ? null : el("button", { type: "button", onclick: readAgain }, "Ask how far it is"),
  );
  made.id = "forgotten";
  return made;
}

function rebuiltLine({ federation, done, sentence, done_at }: ForgetNews["rebuilt"][number]): string {
  return `${federation}, ${done ? `done ${shown(done_at)}` : "not done yet"}: ${sentence}`;
}

/** The platform finds out only when no sum holds the device any more. */
const none = (done: boolean, text: string): string => (done ? text : "Not known yet.");

function holding({ done, holds, versions }: ForgetNews): HTMLElement[] {
  if (holds.length === 0) return [el("p", {}, none(done, "None is known."))];
  const lines = holds.map(({ federation, version, at, in_sum }) => {
    const how = in_sum ? "; its update came in a sum, from which nobody could take it" : "";
    return `version ${version} of ${federation}, made ${shown(at)}${how}`;
  });
  const more =
    versions > holds.length ? [el("p", {}, `The newest ${holds.length} of ${versions.toLocaleString()}.`)] : [];
  return [...more, list(lines)];
}
