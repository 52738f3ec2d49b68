// The owner's page.
import { showConsent } from "./consent.js";
import { showLogs } from "./logs.js";
import { $, ask, button, bytes, el, list, pairs, run, say, share, shown, table, when } from "./page.js";
import { forgottenParts } from "./receipt.js";
import { showUpdates } from "./updates.js";

const LOOK_MS = 3000;
const FOR_GOOD = 1e12;
const DAY_S = 86400;
let view = null;
let accuracy = null;
let latestPrivacy = "";

function showNow({ report, choices }, at) {
  const status = report.status;
  const parts = [];
  if (at < choices.paused_until) {
    parts.push(el("p", choices.paused_until >= FOR_GOOD ? "You have paused it." : `You have paused it until ${when(choices.paused_until)}.`));
  }
  const waits = report.waits.filter(({ code }) => !code.startsWith("updates.")); // they keep it from no training
  if (waits.length > 0) {
    parts.push(el("p", "It does not train now:"), list(waits.map((reason) => reason.sentence)));
  } else if (status?.progress) {
    const { stage, steps_done, steps_total } = status.progress;
    parts.push(el("p", `It works on a round: ${stage}${steps_total ? `, step ${steps_done} of ${steps_total}` : ""}.`));
  } else {
    parts.push(el("p", "Nothing holds it back; it waits to be asked."));
  }
  $("now").replaceChildren(...parts);
}

function showLearned({ report, learned, sends_samples, shows_samples, answered_for, is_masked }) {
  const rows = [["Platform", `${report.url}, as ${report.name}`]];
  rows.push(["Model", learned === null ? "none yet" : `version ${learned.version}${report.personal ? ", and a personal model that answers" : ""}`]);
  if (learned !== null && learned.labels.length > 0) rows.push(["It tells apart", learned.labels.join(", ")]);
  rows.push(["Your samples, which stay here", String(report.samples)]);
  if (report.set_aside_samples > 0) rows.push(["Samples set aside", `${report.set_aside_samples}, as the model does not know their label: nothing is learned from them`]);
  if (accuracy !== null) rows.push(["How well, on samples it had not learned", share(accuracy)]);
  const tuned = report.status?.peers?.tuned;
  if (tuned?.own_accuracy != null) rows.push(["Its own model", share(tuned.own_accuracy)]);
  if (report.outcomes.length > 0) rows.push(["Its latest round", `${report.outcomes[0].outcome}: ${report.outcomes[0].sentence}`]);
  if (report.serving !== null) rows.push(["Its answers to your programs", served(report.serving)]);
  rows.push(["Samples that leave it", leaving(sends_samples, is_masked ? null : answered_for)]);
  if (shows_samples) rows.push(["Samples that phones are shown", "those that you are asked about, on phones that you have let in (agent.toml, [page])"]);
  pairs($("learns"), rows);
}

function leaving(sends, federation) {
  if (!sends) return "none";
  const those = "those of your programs that its own model does not answer in time, which you allow (agent.toml, [platform])";
  return federation === null ? `none now; the platform would answer ${those}, if a federation had it do so` : `${those}; ${federation} has the platform answer them`;
}

function served({ since, counted }) {
  const refused = counted.late + counted.busy + counted.without_model;
  const platform = counted.platform_answers > 0 ? `${counted.platform_answers} by the platform, ` : "";
  const others = `${counted.last_answers} by an earlier answer, ${platform}${refused} not answered`;
  return `${counted.answered} of ${counted.requests} by its model, ${others}; since ${when(since)}`;
}

function words(required) {
  const said = [];
  if (required.charging) said.push("it charges");
  if (required.unmetered) said.push("the network is not metered");
  if (required.idle) said.push("nobody uses it");
  if (required.max_temperature_c != null) said.push(`it is no hotter than ${required.max_temperature_c} °C`);
  if (required.hours != null) said.push(`it is between ${required.hours[0]}:00 and ${required.hours[1]}:00`);
  return said.length === 0 ? "whenever it is asked" : `while ${new Intl.ListFormat("en").format(said)}`;
}

function showLimits({ settings, choices }) {
  $("settings").textContent = `agent.toml lets it train ${words(settings)}. What you tick here is asked beside that.`;
  const form = $("limits");
  if (form.contains(document.activeElement)) return;
  const limits = choices.limits ?? { charging: false, unmetered: false, idle: false };
  for (const name of ["charging", "unmetered", "idle"]) form.elements[name].checked = limits[name] ?? false;
  form.elements.max_temperature_c.value = limits.max_temperature_c ?? "";
  form.elements.from.value = limits.hours?.[0] ?? "";
  form.elements.to.value = limits.hours?.[1] ?? "";
}

function showPause({ choices }, at) {
  const until = (moment) => choose({ ...view.choices, paused_until: moment }); // the limits as they are when it is pressed
  const paused = at < choices.paused_until;
  const labels = paused ? ["Go on"] : ["Pause for a day", "Pause until I say so"];
  if ([...$("pause").children].map((child) => child.textContent).join() === labels.join()) return;
  $("pause").replaceChildren(
    ...(paused ? [button("Go on", () => until(0))] : [button("Pause for a day", () => until(view.at + DAY_S)), button("Pause until I say so", () => until(FOR_GOOD))]),
  );
}

async function choose(choices) {
  view = { ...view, choices: await ask("POST", "/choices", choices) };
  show();
  say("Saved.");
}

const epsilon = (value) => String(Number(value.toPrecision(3)));

function covering({ privacy, sample }) {
  if (privacy === "") return "nothing covered it";
  const told = sample == null ? "" : `: epsilon ${epsilon(sample.epsilon)} of one sample at delta ${sample.delta}`;
  return `covered by ${privacy.replaceAll("_", " ")}${told}`;
}

function toldUnderNoise({ epsilon: told, allowed_epsilon: allowed, delta, federations }) {
  const most = `${epsilon(allowed)} that you allow in all, at delta ${delta} (agent.toml, [privacy])`;
  if (told === null) return "The account of what was told under noise was damaged on the disk: nothing more is told.";
  if (told === 0) return `Nothing was told under noise yet, of epsilon ${most}.`;
  const each = Object.entries(federations).map(([name, one]) => `${name} ${epsilon(one)}`).join(", ");
  return `Told under noise, by its own account: epsilon ${epsilon(told)} of ${most}. Alone: ${each}.`;
}

function showRaised(raised) {
  if ($("raised").dataset.key === raised.join()) return;
  $("raised").dataset.key = raised.join();
  $("raised").replaceChildren(...raised.map((federation) => button(`Agree that ${federation} may tell more`, async () => {
    const { epsilon: most, delta } = await ask("POST", "/agree", { federation });
    await look();
    say(`${federation} may tell epsilon ${epsilon(most)} at delta ${delta}.`);
  })));
}

const READ = {
  clear: "The platform reads",
  noise: "It reads with this device's noise",
  summed: "It reads summed with others alone",
  "not sent": "Left out under this plan",
};

// By the plan that holds: what single fields of what was sent tell, and to whom they are readable.
function showSent({ report, told, is_masked }) {
  const key = JSON.stringify([report.sent, is_masked, latestPrivacy]);
  if ($("sent").dataset.key === key) return;
  $("sent").dataset.key = key;
  const covering = is_masked ? "masked" : latestPrivacy === "local_noise" ? "local_noise" : null;
  const tells = (what) => {
    const fields = told[what] ?? [];
    return Object.entries(READ)
      .map(([how, words]) => [words, fields.filter((one) => (covering === null ? "clear" : one[covering]) === how).map((one) => one.what)])
      .filter(([, found]) => found.length > 0)
      .map(([words, found]) => `${words}: ${found.join("; ")}.`)
      .join(" ");
  };
  $("sent").replaceChildren(table("Everything that was sent", ["What", "Messages", "Bytes", "What it tells"],
    report.sent.map((one) => [one.what, { text: one.messages }, { text: bytes(one.bytes) }, tells(one.what)])));
}

function show() {
  const at = view.at;
  $("name").textContent = view.report.name;
  document.title = view.report.name;
  $("device").hidden = false;
  showNow(view, at);
  showLearned(view);
  $("stay").hidden = view.sends_samples || view.shows_samples;
  showLimits(view);
  showPause(view, at);
  $("told").textContent = toldUnderNoise(view.report.privacy);
  showRaised(view.report.privacy.raised);
  showSent(view);
  showConsent(view, look);
  showUpdates(view.updates);
  showLogs(view.logs);
}

// Redrawn only when the question is another, so that no tap and no focus is lost.
let labels = null;
let keepsSamples = false;

function picture({ picture: [channels, height, width], x }) {
  const canvas = el("canvas", "");
  [canvas.width, canvas.height, canvas.className] = [width, height, "sample"];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The sample that is asked about");
  const numbers = x.filter((number) => Number.isFinite(number));
  const [least, most] = [Math.min(0, ...numbers), Math.max(...numbers)];
  const pixels = new ImageData(width, height);
  for (let place = 0; place < width * height; place++) {
    for (let colour = 0; colour < 3; colour++) {
      const number = x[(channels === 3 ? colour * width * height : 0) + place];
      pixels.data[4 * place + colour] = (255 * (number - least)) / (most - least || 1);
    }
    pixels.data[4 * place + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

const numbersOf = ({ x }) => `${x.slice(0, 8).map((number) => Number(number.toPrecision(4))).join(", ")}${x.length > 8 ? ", …" : ""}`;

function asked(question) {
  const answer = (label) => () => sayLabel("/labels/answer", { question: question.id, label });
  const what = question.picture === null ? el("p", question.shown || numbersOf(question)) : el("figure", "", picture(question), el("figcaption", question.shown));
  const options = el("p", "", ...question.options.map((name, label) => button(name, answer(label))));
  options.setAttribute("role", "group");
  options.setAttribute("aria-labelledby", "h-labels");
  return [what, options, el("p", "", button("I do not know", answer(null)))];
}

async function sayLabel(path, body) {
  const before = labels?.question?.id;
  labels = await ask("POST", path, body);
  drawLabels();
  say(path.endsWith("undo") ? "Undone: it asks again." : path.endsWith("snooze") ? "Saved." : before === labels.question?.id ? "" : "Thank you.");
}

function drawLabels() {
  const { question, left_today, unlabelled, snoozed_until, can_undo, given, asked: told, implied } = labels;
  const hasAny = told + implied + unlabelled > 0;
  $("labels").hidden = !hasAny && question === null;
  const key = JSON.stringify([question?.id, can_undo, snoozed_until, left_today, unlabelled, given, told, implied]);
  if ($("labels").dataset.key === key) return;
  $("labels").dataset.key = key;
  const isSnoozed = view.at < snoozed_until;
  $("question").replaceChildren(...(question !== null ? asked(question)
    : [el("p", isSnoozed ? `It asks nothing before ${when(snoozed_until)}.` : left_today === 0 ? "Nothing more today." : "Nothing to ask.")]));
  $("label-actions").replaceChildren(
    ...(can_undo ? [button("Undo the last answer", () => sayLabel("/labels/undo", {}))] : []),
    isSnoozed ? button("Ask me again", () => sayLabel("/labels/snooze", { hours: 0 })) : button("Not for a day", () => sayLabel("/labels/snooze", { hours: 24 })),
  );
  $("label-counts").textContent = `Labels: ${given} came with their samples, ${told} you have said, ${implied} a program has seen; ${unlabelled} without one. `
    + `${left_today} more questions today at most (agent.toml, [labels]).`;
}

async function showLabels() {
  if (keepsSamples) return;
  try {
    labels = await ask("GET", "/labels");
  } catch (error) {
    if (error.code !== "page.keeps_samples") throw error;
    keepsSamples = true;
    return;
  }
  drawLabels();
}

async function showReceipts() {
  try {
    const { receipts } = await ask("GET", "/receipts");
    const told = receipts.findLast((one) => one.accuracy != null);
    accuracy = told === undefined ? null : told.accuracy;
    latestPrivacy = receipts.findLast((one) => one.kind.endsWith("update"))?.privacy ?? "";
    const rows = receipts.toReversed().map((one) => [
      shown(new Date(one.at)),
      one.count > 1 ? `${one.count} ${one.kind}` : one.kind,
      { text: bytes(one.size_bytes) },
      covering(one),
      one.sentence,
    ]);
    $("receipts").replaceChildren(rows.length === 0 ? el("p", "Nothing yet.")
      : table("What left it", ["When", "What", "Bytes", "Privacy", "What became of it"], rows));
  } catch (error) {
    $("receipts").replaceChildren(el("p", `What became of it only the platform knows, and it was not reached: ${error.message}`));
  }
}

let ended = false;

async function look() {
  if (ended) return;
  try {
    view = await ask("GET", "/owner");
    if (ended) return;
    if ($("says").textContent.endsWith("…") || $("says").dataset.problem === "yes") say("");
    $("says").dataset.problem = "no";
    show();
    await showLabels();
  } catch (error) {
    say(error.message);
    $("says").dataset.problem = "yes";
  }
}

$("limits").onsubmit = (event) => {
  event.preventDefault();
  run(async () => {
    const form = event.target.elements;
    const hot = form.max_temperature_c.value;
    const [from, to] = [form.from.value, form.to.value];
    if ((from === "") !== (to === "")) throw new Error("Give both hours, or none.");
    const limits = {
      charging: form.charging.checked,
      unmetered: form.unmetered.checked,
      idle: form.idle.checked,
      max_temperature_c: hot === "" ? null : Number(hot),
      hours: from === "" ? null : [Number(from), Number(to)],
    };
    document.activeElement?.blur();
    await choose({ ...view.choices, limits });
  });
};

$("export").onclick = () =>
  run(async () => {
    const found = await ask("GET", "/export");
    const link = el("a", "");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(found, null, 2)], { type: "application/json" }));
    link.download = `${view.report.name}.json`;
    link.click();
    URL.revokeObjectURL(link.href);
    say("Exported.");
  });

function part(what, path, done) {
  const dialog = $("sure");
  $("sure-what").textContent = what;
  $("sure-name").value = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    run(async () => {
      const answer = await ask("POST", path, { name: $("sure-name").value });
      ended = true;
      $("device").hidden = true;
      sessionStorage.removeItem("token");
      say(done(answer));
    });
  };
  dialog.returnValue = "";
  dialog.showModal();
}

$("leave").onclick = () =>
  part("It leaves the platform, which keeps what it has. Your samples stay on the device.", "/leave",
    () => "It has left. Your samples stay on the device; the agent has stopped.");
$("forget").onclick = () =>
  part(
    "It leaves, and the platform deletes what it keeps of it: updates, figures, its name. Versions that have learned from it stay, unless its federation's plan promises models without it; the receipt says so. Your samples stay on the device.",
    "/forget",
    (news) => {
      $("receipt").replaceChildren(...forgottenParts(news));
      $("forgotten").hidden = false;
      return "The platform forgets it, and the agent has stopped. How far it is: coterie-agent page";
    },
  );

await look();
if (view !== null) {
  await showReceipts();
  show();
  setInterval(look, LOOK_MS);
  setInterval(showReceipts, 20 * LOOK_MS);
}
