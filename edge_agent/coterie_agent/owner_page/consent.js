// What plans ask beyond the owner's word, and what he has agreed to, edition by edition.
import { $, ask, button, el, list, say, when } from "./page.js";

const HOW = {
  terminal: "at the terminal",
  unattended: "by --yes",
  page: "on this page",
  settings: "by agent.toml, [consent]",
  before: "before agreements were kept",
};

export function showConsent({ questions, agreed, parts }, look) {
  draw("questions", questions, () => questions.flatMap((question) => asked(question, look)));
  $("asked").hidden = questions.length === 0;
  draw("parts", parts, () => parts.map((part) => changed(part, look)));
  draw("agreed", agreed, () => (agreed.length === 0 ? [el("p", "Nothing yet.")] : agreed.toReversed().map(edition)));
}

// Only what has changed, so that no tap and no focus is lost, and what was opened stays open.
function draw(id, state, make) {
  const key = JSON.stringify(state);
  if ($(id).dataset.key === key) return;
  $(id).dataset.key = key;
  $(id).replaceChildren(...make());
}

function asked({ asked: shown, words }, look) {
  const agree = button(`Agree to what ${shown.federation} asks`, async () => {
    await ask("POST", "/consent", shown);
    await look();
    say("You have agreed.");
  });
  const title = el("h3", `${shown.federation} asks more than you have agreed to`);
  return [title, list(words), el("p", "Your samples never leave. Until you agree, your device takes no part in it."), agree];
}

function changed({ part, words, is_withdrawn: isWithdrawn }, look) {
  const label = isWithdrawn ? "Give again" : "Take back";
  const change = button(label, async () => {
    await ask("POST", isWithdrawn ? "/give-again" : "/take-back", { part });
    await look();
    say(isWithdrawn ? "It holds again." : "You have taken it back; the device stops at its next check-in.");
  });
  change.setAttribute("aria-label", `${label}: ${words}`);
  return el("p", "", el("span", isWithdrawn ? `Taken back: ${words}` : words), el("span", " "), change);
}

function edition({ at, how, scopes, withdrawn, read }) {
  const without = withdrawn.length === 0 ? "" : `, without ${withdrawn.join(", ")}`;
  const summary = el("summary", `${when(at)}, ${HOW[how]}: ${scopes.join(", ") || "nothing"}${without}`);
  return el("details", "", summary, el("pre", read));
}
