// What the pages of a device share: they ask the agent on this device, and nobody else.
export const $ = (id) => document.getElementById(id);

// In the fragment, which browsers send to no server: on the device itself the token, which stays in this tab alone; on
// its network, over TLS, a secret that is good once, for a cookie that no script sees.
const fragment = location.hash.slice(1);
const isOnNetwork = location.protocol === "https:";
if (fragment !== "") {
  if (!isOnNetwork) sessionStorage.setItem("token", fragment);
  history.replaceState(null, "", location.pathname);
}
let notLetIn = null;

export class Refusal extends Error {
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

export async function ask(method, path, body) {
  const headers = isOnNetwork ? {} : { Authorization: `Bearer ${sessionStorage.getItem("token") ?? ""}` };
  const request = { method, headers, cache: "no-store" };
  if (body !== undefined) request.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Refusal("page.no_agent", "The agent does not answer. Is it running? Then ask for the address again: coterie-agent page");
  }
  const found = await answer.json();
  if (answer.status === 401 && notLetIn !== null) throw notLetIn; // what the link was refused for tells more
  if (!answer.ok) throw new Refusal(found.code, found.detail);
  return found;
}

export function el(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text !== "") made.append(text);
  made.append(...children);
  return made;
}

export const list = (items) => el("ul", "", ...items.map((item) => el("li", item)));
export const shown = (date) => date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
export const when = (seconds) => shown(new Date(1000 * seconds));
export const share = (part) => `${(100 * part).toFixed(1)} %`;

export function bytes(count) {
  const power = Math.min(3, Math.floor(Math.log(Math.max(count, 1)) / Math.log(1000)));
  return `${(count / 1000 ** power).toFixed(power ? 1 : 0)} ${["B", "kB", "MB", "GB"][power]}`;
}

export function table(caption, heads, rows) {
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

export function pairs(into, rows) {
  into.replaceChildren(...rows.flatMap(([name, value]) => [el("dt", name), el("dd", value)]));
}

export function say(sentence) {
  $("says").textContent = sentence;
}

// A failure is said, and changes nothing.
export async function run(act) {
  try {
    await act();
  } catch (error) {
    say(error.message);
  }
}

export function button(label, act) {
  const made = el("button", label);
  made.type = "button";
  made.onclick = () => run(act);
  return made;
}

if (isOnNetwork && fragment !== "") {
  try {
    await ask("POST", "/open", { secret: fragment });
  } catch (refusal) {
    notLetIn = refusal; // the phone may have been let in before
  }
}
