// What plans ask beyond the owner's word, and what he has agreed to, edition by edition.
import { $, ask, button, el, list, say, when } from "./page.js";

const HOW = {
  terminal: "at the terminal",
  unattended: "by --yes",
  page: "on this page",
  settings: "by agent.toml, [consent]",
  before: "before agreements were kept",
};

export function showConsent({ questions, agreed }, look) {
  draw("questions", questions, () => questions.flatMap((question) => asked(question, look)));
  $("asked").hidden = questions.length === 0;
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

function edition({ at, how, scopes, read }) {
  const summary = el("summary", `${when(at)}, ${HOW[how]}: ${scopes.join(", ") || "nothing"}`);
  return el("details", "", summary, el("pre", read));
}
