// The agent's log: who asks for it, and the owner's word on that.
import { $, ask, button, bytes, el, list, say, when } from "./page.js";

const RULES = {
  never: "Nobody gets it, and none is kept (agent.toml, [logs]).",
  ask: "An operator of the platform gets it when you allow it (agent.toml, [logs]).",
  always: "Each operator of the platform who asks gets it (agent.toml, [logs]).",
};
const HOLDS = "It holds what the agent did and what failed, without secrets, samples and the paths of your files.";
const SAID = { allow: "You have allowed it.", refuse: "You have refused it." };

export function showLogs(logs) {
  const key = JSON.stringify(logs);
  if ($("log").dataset.key === key) return;
  $("log").dataset.key = key;
  $("log").replaceChildren(...parts(logs));
}

function parts({ send, asked, ended }) {
  const made = [el("p", `${RULES[send]} ${send === "never" ? "" : HOLDS}`)];
  if (asked !== null) made.push(...open(asked, send === "ask"));
  if (ended.length > 0) made.push(list(ended.map(became)));
  return made;
}

const hours = (count) => (count === 1 ? "the last hour" : `the last ${count} hours`);

function open({ request, hours: count, why, keep_days: days, word }, asks) {
  const made = [
    el("h3", `An operator asks for ${hours(count)}`),
    el("p", `${why === "" ? "He has not said what for." : `What for: ${why}`} The platform keeps what is sent for ${days} days.`),
  ];
  if (word !== "none") made.push(el("p", word === "allowed" ? "You have allowed it; it is sent when the platform is reached." : "You have refused it."));
  else if (asks) made.push(button("Allow it", () => tell("allow", request)), button("Refuse it", () => tell("refuse", request)));
  return made;
}

const OUTCOMES = { delivered: "sent", refused: "refused", withdrawn: "not asked for any longer" };

function became({ hours: count, outcome, ended_at, lines, bytes: size }) {
  const sent = outcome === "delivered" ? `: ${lines} lines, ${bytes(size)}` : "";
  return `${when(ended_at)}, ${hours(count)}: ${OUTCOMES[outcome]}${sent}`;
}

async function tell(word, request) {
  showLogs(await ask("POST", "/logs", { request, say: word }));
  say(SAID[word]);
}
