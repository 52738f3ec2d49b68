// The agent itself: which one runs, which is offered and by whose signature, and the owner's word on it.
import { $, ask, button, bytes, el, say, when } from "./page.js";

const ENDED = { installed: "updated", refused: "not installed", rolled_back: "gone back from", returned: "gone back from" };

export function showUpdates(updates) {
  const key = JSON.stringify(updates);
  if ($("agent").dataset.key === key) return;
  $("agent").dataset.key = key;
  $("agent").replaceChildren(...parts(updates));
}

function parts(updates) {
  const { version, refuses, take, always, offer, last } = updates;
  const made = [el("p", `Agent ${version} runs.`)];
  if (last !== null) made.push(el("p", ended(last)));
  if (offer !== null) made.push(...offered(updates));
  else made.push(el("p", refuses === null ? "No other is offered." : `No other is installed: ${refuses.sentence}.`));
  const all = "every release that is signed with the keys that this device trusts";
  if (take === "on") made.push(el("p", `agent.toml agrees to ${all}.`));
  else if (always) made.push(el("p", `You agree to ${all}.`), button("Ask me about each", () => tell("ask")));
  return made;
}

function ended({ version, outcome, reason, at }) {
  const why = reason === null ? "" : `: ${reason.sentence}`;
  return `Latest update, ${when(at)}: agent ${version} ${ENDED[outcome]}${why}.`;
}

function offered({ offer, take, always, agreed, put_off_until, waits }) {
  const { version, notes, size_bytes, signed_by, signatures_needed: needed } = offer;
  const keys = signed_by.map((id) => id.slice(0, 8)).join(", ");
  const asked = needed === 1 ? "one signature is" : `${needed} signatures are`;
  const made = [
    el("h3", `Agent ${version} is offered`),
    notes === "" ? el("p", "Who signed it does not say what is new.") : note(notes),
    el("p", `Signed by ${keys}; ${asked} asked for, of keys that this device has trusted since it joined or that those have named. At most ${bytes(size_bytes)} are fetched.`),
  ];
  if (take === "on" || agreed) {
    if (agreed && !always) made.push(el("p", "You have agreed to it."));
    if (waits !== null) made.push(el("p", `${waits.sentence}.`));
    return made;
  }
  made.push(button("Agree", () => tell("agree", version)));
  if (put_off_until === null) made.push(button("Not now", () => tell("later", version)));
  else made.push(el("p", `You do not want it before ${when(put_off_until)}.`));
  return [...made, button("Always agree", () => tell("always"))];
}

function note(text) {
  const made = el("p", text);
  made.className = "notes";
  return made;
}

const SAID = { agree: "You have agreed.", later: "It asks again in a day.", always: "You agree to all that are signed so.", ask: "It asks about each." };

async function tell(word, version = "") {
  showUpdates(await ask("POST", "/updates", { say: word, version }));
  say(SAID[word]);
}
