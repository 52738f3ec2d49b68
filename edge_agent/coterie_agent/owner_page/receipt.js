// What became of a device that its owner had forgotten, as the platform's receipt says it.
import { el, list, shown, table } from "./page.js";

const at = (text) => (text === "" ? "" : shown(new Date(text)));

export function forgottenParts(news) {
  const { receipt, done, sentence, asked_at, done_at = "", taken_out = 0, removed = {}, rebuilt = [] } = news;
  const rows = Object.entries(removed).map(([what, count]) => `${what.replaceAll("_", " ")}: ${count}`);
  return [
    el("p", done ? `Done${done_at === "" ? "" : `, ${at(done_at)}`}: ${sentence}.` : `Not done yet: ${sentence}.`),
    el("p", `Receipt ${receipt}, asked for ${at(asked_at)}. Keep the number: whoever has it may ask how far it is.`),
    el("p", `Updates that went into no merge any more: ${taken_out}.`),
    ...(rows.length > 0 ? [el("details", "", el("summary", "Rows that were removed"), list(rows))] : []),
    el("h3", "Models made again without it"),
    rebuilt.length === 0 ? el("p", none(done, "None: no plan that it had a part in promises that.")) : list(rebuilt.map(rebuiltLine)),
    el("h3", "Versions known to hold updates of it"),
    ...holding(news),
  ];
}

function rebuiltLine({ federation, done, sentence, done_at = "" }) {
  if (!done) return `${federation}, not done yet: ${sentence}`;
  return `${federation}, done${done_at === "" ? "" : ` ${at(done_at)}`}: ${sentence}`;
}

// The platform finds out only when no sum holds the device any more.
const none = (done, text) => (done ? text : "Not known yet.");

function holding({ done, holds = [], versions = 0 }) {
  if (holds.length === 0) return [el("p", none(done, "None is known."))];
  const rows = holds.map(({ version, federation, at: made, in_sum = false }) => [
    `version ${version} of ${federation}`,
    at(made),
    in_sum ? "in a sum, from which nobody could take it" : "by itself",
  ]);
  const more = versions > holds.length ? [el("p", `The newest ${holds.length} of ${versions}.`)] : [];
  return [...more, table("Versions known to hold updates of it", ["Version", "Made", "Its update came"], rows)];
}
