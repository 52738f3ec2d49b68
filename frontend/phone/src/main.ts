/** The page: starts the worker that trains, passes on the conditions that only a page sees, and shows what it says. */
import runtime from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import "./page/styles.css";
import type { Damage } from "./device/kept";
import { Probes } from "./page/conditions";
import { damagePart } from "./page/damage";
import { el } from "./page/dom";
import { forgetDrawnCredential } from "./page/drawn_credential";
import { forgottenPart } from "./page/forgotten";
import { takeToken } from "./page/invitation";
import { joiningPage } from "./page/joining";
import { ownerPage, type Part } from "./page/owner";
import { SourceParts } from "./page/sources";
import { CHANNEL, type Command, type News, type Shown } from "./protocol";
import type { ForgetNews } from "./wire/messages";

const LOOK_MS = 1000;
/** Between two questions how far the platform is with forgetting. */
const RECEIPT_MS = 30_000;
const VERSION = "phone 0.1.0";

const main = document.getElementById("main") as HTMLElement;
const host = document.getElementById("host") as HTMLElement;
host.textContent = location.host;
let token = takeToken();
let shown: Shown | null = null;
let note = "";
/** What the device is called once it joins; kept where joining fails. */
let called = "my phone";
/** As the own worker says, once it has the lock. */
let isJoined: boolean | null = null;
let damage: readonly Damage[] = [];
/** What became of the device of this browser that was forgotten. */
let forgotten: ForgetNews | null = null;
const spoken = el("p", { role: "status" });
let inSight: ReturnType<typeof setTimeout> | undefined;
const drawn = new Map<string, Drawn>();
const IN_SIGHT_MS = 10_000;
const FOCUSABLE = "button, input, select, textarea, summary";
const stateOf = ({ state }: Part): string => JSON.stringify(state);

interface Drawn {
  readonly state: string;
  readonly element: HTMLElement;
}

const worker = new Worker(new URL("./trainer.worker.ts", import.meta.url), { type: "module" });
const tell = (command: Command): void => worker.postMessage(command);
const sources = new SourceParts(tell);
const probes = new Probes(() => {
  tell({ do: "observe", conditions: probes.conditions() });
  draw();
});

function show(...content: HTMLElement[]): void {
  spoken.textContent = note;
  main.replaceChildren(spoken, ...content);
  main.ariaBusy = "false";
  drawn.clear();
}

function draw(): void {
  if (shown === null) return;
  const confirmed = probes.confirmed();
  const toConfirm = probes.unknown().filter((what) => !confirmed.includes(what));
  const parts = ownerPage(shown, sources.parts(shown), {
    toConfirm,
    confirmed,
    confirm: (what) => probes.confirm(what),
    tellsIdle: probes.tellsIdle,
    watchIdle: () => probes.watchIdle(),
    tell,
  });
  if (drawn.size === 0) show();
  spoken.textContent = note;
  const keys = new Set(parts.map(({ key }) => key));
  for (const [key, { element }] of drawn) {
    if (keys.has(key)) continue;
    element.remove();
    drawn.delete(key);
  }
  let last: Element = spoken;
  for (const part of parts) {
    last = drawPart(part, last);
  }
}

/** Behind the part that is `last`; one that is drawn already stands there, and stays where its state is the same. */
function drawPart(part: Part, last: Element): HTMLElement {
  const [before, state] = [drawn.get(part.key), stateOf(part)];
  if (before?.state === state) return before.element;
  const element = part.make();
  if (before === undefined) {
    last.after(element);
  } else {
    keepOpen(before.element, element);
    const focused = focusedIn(before.element, element);
    before.element.replaceWith(element);
    focused?.focus({ preventScroll: true });
  }
  drawn.set(part.key, { state, element });
  return element;
}

/** What in `after` takes the place of what has the focus in `before`; undefined: nothing there has it. */
function focusedIn(before: HTMLElement, after: HTMLElement): HTMLElement | undefined {
  const { activeElement } = document;
  const at = [...before.querySelectorAll(FOCUSABLE)].indexOf(activeElement as Element);
  if (at < 0) return undefined;
  const found = [...after.querySelectorAll<HTMLElement>(FOCUSABLE)];
  const line = found.find(
    ({ tagName, textContent }) => tagName === "SUMMARY" && textContent === activeElement?.textContent,
  );
  return line ?? found.slice(0, at + 1).at(-1);
}

/** What the owner has opened to read stays open. */
function keepOpen(before: HTMLElement, after: HTMLElement): void {
  const open = new Set([...before.querySelectorAll("details[open] summary")].map((summary) => summary.textContent));
  for (const details of after.querySelectorAll("details")) {
    details.open = open.has(details.querySelector("summary")?.textContent ?? "");
  }
}

async function standing(joined: boolean): Promise<void> {
  if (isJoined === null) note = ""; // whatever another tab was doing, this one is the device now
  isJoined = joined;
  if (joined) {
    token = null;
    forgetDrawnCredential();
    void keepOffline();
    void stayAwake();
    return;
  }
  shown = null;
  const damaged = damage.length === 0 ? [] : [damagePart(damage, () => tell({ do: "read-damage" }))];
  const receipt = forgotten === null ? [] : [receiptOf(forgotten)];
  const page = await joiningPage(token, called, (joining) => {
    called = joining.name;
    tell({ do: "join", ...joining });
  });
  show(...damaged, ...page, ...receipt);
  if (forgotten !== null && !forgotten.done) tell({ do: "read-receipt" });
}

const receiptOf = (news: ForgetNews): HTMLElement => forgottenPart(news, () => tell({ do: "read-receipt" }));

function heard({ data }: MessageEvent<News>): void {
  switch (data.news) {
    case "standing":
      ({ forgotten, damage } = data);
      void standing(data.joined);
      break;
    case "forgotten":
      forgotten = data.forgotten;
      document.getElementById("forgotten")?.replaceWith(receiptOf(forgotten));
      if (!forgotten.done) setTimeout(() => tell({ do: "read-receipt" }), RECEIPT_MS);
      break;
    case "elsewhere":
      note = "Another tab of this browser runs the device; this one shows it and takes over when that is closed.";
      show(el("h1", {}, "Coterie on this device")); // until that one says more
      break;
    case "outcome": {
      const { problem, sentence, of } = data.outcome;
      note = problem === null ? sentence : `${sentence} [${problem.code}]`;
      spoken.textContent = note;
      keepInSight();
      if (of === "join" && problem !== null) void standing(false);
      if (of === "add-text" && problem === null) sources.added();
      draw();
      break;
    }
    case "answered":
      sources.answered(data.source, data.answers);
      break;
    case "suggested":
      sources.suggested(data.text, data.words);
      break;
    case "exported":
      save(data.document);
      break;
    case "shown":
      if (isJoined === false) break; // said before the device left
      shown = data.shown;
      draw();
  }
}

/** For a while, wherever the page is scrolled to. */
function keepInSight(): void {
  spoken.classList.add("fresh");
  clearTimeout(inSight);
  inSight = setTimeout(() => spoken.classList.remove("fresh"), IN_SIGHT_MS);
}

/** As a file that the owner keeps. */
function save(text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href, download: "device.json" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Keep the page for when there is no network. A browser that cannot works while it has one. */
async function keepOffline(): Promise<void> {
  if (import.meta.env.DEV || !("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("/phone/sw.js", { scope: "/phone/", updateViaCache: "none" });
  } catch (error) {
    console.warn(`the page is not kept for use without a network: ${(error as Error).message}`);
  }
}

/** While the page is seen the screen stays on: phones stop what they do not show. */
async function stayAwake(): Promise<void> {
  if (!("wakeLock" in navigator) || document.hidden) return;
  try {
    await navigator.wakeLock.request("screen");
  } catch {
    // the battery is low, or a setting forbids it: the owner keeps the screen on
  }
}

worker.addEventListener("message", heard);
new BroadcastChannel(CHANNEL).addEventListener("message", heard);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && shown !== null) void stayAwake();
});
tell({ do: "start", runtime, agent: VERSION });
void probes.start();
// The owner's word runs out, hours pass, and a browser may change its mind without saying so.
setInterval(() => tell({ do: "observe", conditions: probes.conditions() }), LOOK_MS);
