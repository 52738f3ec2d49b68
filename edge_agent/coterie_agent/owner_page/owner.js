// The owner's page: it asks the agent on this device, and nobody else.
const LOOK_MS = 3000;
const FOR_GOOD = 1e12;
const DAY_S = 86400;
const $ = (id) => document.getElementById(id);

// The token is in the fragment, which no server sees; then in this tab alone.
if (location.hash.length > 1) {
  sessionStorage.setItem("token", location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

class Refusal extends Error {
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem("token") ?? ""}` };
  const request = { method, headers, cache: "no-store" };
  if (body !== undefined) request.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Refusal("page.no_agent", "The agent does not answer. Is it running? Then ask for the address again: coterie-agent page");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Refusal(found.code, found.detail);
  return found;
}

function el(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text !== "") made.append(text);
  made.append(...children);
  return made;
}

const list = (items) => el("ul", "", ...items.map((item) => el("li", item)));
const shown = (date) => date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
const when = (seconds) => shown(new Date(1000 * seconds));
const share = (part) => `${(100 * part).toFixed(1)} %`;

function bytes(count) {
  const power = Math.min(3, Math.floor(Math.log(Math.max(count, 1)) / Math.log(1000)));
  return `${(count / 1000 ** power).toFixed(power ? 1 : 0)} ${["B", "kB", "MB", "GB"][power]}`;
}

function table(caption, heads, rows) {
  const head = el("thead", "", el("tr", "", ...heads.map((name) => el("th", name))));
  for (const cell of head.querySelectorAll("th")) cell.scope = "col";
  const cells = (row) => row.map((value) => {
    const cell = el("td", String(value.text ?? value));
    if (value.text !== undefined) cell.className = "number";
    return cell;
  });
  const made = el("table", "", head, el("tbody", "", ...rows.map((row) => el("tr", "", ...cells(row)))));
  made.setAttribute("aria-label", caption);
  return made;
}

function pairs(into, rows) {
  into.replaceChildren(...rows.flatMap(([name, value]) => [el("dt", name), el("dd", value)]));
}

let view = null;
let accuracy = null;

function showNow({ report, choices }, at) {
  const status = report.status;
  const parts = [];
  if (at < choices.paused_until) {
    parts.push(el("p", choices.paused_until >= FOR_GOOD ? "You have paused it." : `You have paused it until ${when(choices.paused_until)}.`));
  }
  if (report.waits.length > 0) {
    parts.push(el("p", "It does not train now:"), list(report.waits.map((reason) => reason.sentence)));
  } else if (status?.progress) {
    const { stage, steps_done, steps_total } = status.progress;
    parts.push(el("p", `It works on a round: ${stage}${steps_total ? `, step ${steps_done} of ${steps_total}` : ""}.`));
  } else {
    parts.push(el("p", "Nothing holds it back; it waits to be asked."));
  }
  $("now").replaceChildren(...parts);
}

function showLearned({ report, learned }) {
  const rows = [["Platform", `${report.url}, as ${report.name}`]];
  rows.push(["Model", learned === null ? "none yet" : `version ${learned.version}${report.personal ? ", and a personal model that answers" : ""}`]);
  if (learned !== null && learned.labels.length > 0) rows.push(["It tells apart", learned.labels.join(", ")]);
  rows.push(["Your samples, which stay here", String(report.samples)]);
  if (accuracy !== null) rows.push(["How well, on samples it had not learned", share(accuracy)]);
  const tuned = report.status?.peers?.tuned;
  if (tuned?.own_accuracy != null) rows.push(["Its own model", share(tuned.own_accuracy)]);
  if (report.outcomes.length > 0) rows.push(["Its latest round", `${report.outcomes[0].outcome}: ${report.outcomes[0].sentence}`]);
  pairs($("learns"), rows);
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

function button(label, act) {
  const made = el("button", label);
  made.type = "button";
  made.onclick = () => run(act);
  return made;
}

function showPause({ choices }, at) {
  const until = (moment) => () => choose({ ...choices, paused_until: moment });
  const paused = at < choices.paused_until;
  const labels = paused ? ["Go on"] : ["Pause for a day", "Pause until I say so"];
  if ([...$("pause").children].map((child) => child.textContent).join() === labels.join()) return;
  $("pause").replaceChildren(
    ...(paused ? [button("Go on", until(0))] : [button("Pause for a day", () => until(Date.now() / 1000 + DAY_S)()), button("Pause until I say so", until(FOR_GOOD))]),
  );
}

async function choose(choices) {
  view = { ...view, choices: await ask("POST", "/choices", choices) };
  show();
  say("Saved.");
}

function show() {
  const at = view.at;
  $("name").textContent = view.report.name;
  document.title = view.report.name;
  $("device").hidden = false;
  showNow(view, at);
  showLearned(view);
  showLimits(view);
  showPause(view, at);
  $("sent").replaceChildren(table("Everything that was sent", ["What", "Messages", "Bytes"],
    view.report.sent.map((one) => [one.what, { text: one.messages }, { text: bytes(one.bytes) }])));
}

async function showReceipts() {
  try {
    const { receipts } = await ask("GET", "/receipts");
    const told = receipts.findLast((one) => one.accuracy != null);
    accuracy = told === undefined ? null : told.accuracy;
    const rows = receipts.toReversed().map((one) => [
      shown(new Date(one.at)),
      one.count > 1 ? `${one.count} ${one.kind}` : one.kind,
      { text: bytes(one.size_bytes) },
      one.privacy === "" ? "nothing covered it" : `covered by ${one.privacy.replaceAll("_", " ")}`,
      one.sentence,
    ]);
    $("receipts").replaceChildren(rows.length === 0 ? el("p", "Nothing yet.")
      : table("What left it", ["When", "What", "Bytes", "Privacy", "What became of it"], rows));
  } catch (error) {
    $("receipts").replaceChildren(el("p", `What became of it only the platform knows, and it was not reached: ${error.message}`));
  }
}

function say(sentence) {
  $("says").textContent = sentence;
}

let ended = false;

async function run(act) {
  try {
    await act();
  } catch (error) {
    say(error.message);
  }
}

async function look() {
  if (ended) return;
  try {
    view = await ask("GET", "/owner");
    if (ended) return;
    if ($("says").textContent.endsWith("…") || $("says").dataset.problem === "yes") say("");
    $("says").dataset.problem = "no";
    show();
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
    "It leaves, and the platform deletes what it keeps of it: updates, figures, its name. Versions that have learned from it stay. Your samples stay on the device.",
    "/forget",
    (news) => `The platform forgets it: ${news.sentence}. Keep the number ${news.receipt}; coterie-agent forget tells how far it is. The agent has stopped.`,
  );

await look();
if (view !== null) {
  await showReceipts();
  show();
  setInterval(look, LOOK_MS);
  setInterval(showReceipts, 20 * LOOK_MS);
}
