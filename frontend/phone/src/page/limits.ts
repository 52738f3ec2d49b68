/** When the owner lets the device train, beside what plans ask; a limit that the browser cannot tell of is not offered. */
import type { Command, Shown } from "../protocol";
import type { Requirements } from "../wire/messages";
import { el, section } from "./dom";
import type { Part } from "./owner";

/** Whether the browser tells if somebody uses the device: it does, it does once the owner lets it, it never does. */
export type TellsIdle = "yes" | "if allowed" | "no";

const IDLE_WORDS: Readonly<Record<TellsIdle, string>> = {
  yes: "The browser tells whether somebody uses it, after a minute without a touch or a key.",
  "if allowed": "The browser tells whether somebody uses it once you let it, and asks you when you save.",
  no: "This browser does not tell whether somebody uses it.",
};

export interface Limiting {
  readonly tellsIdle: TellsIdle;
  /** Have the browser ask the owner whether it may tell. */
  readonly watchIdle: () => Promise<void>;
  readonly tell: (command: Command) => void;
}

export function limitsPart({ choices: { policy } }: Shown, limiting: Limiting): Part {
  return { key: "limits", state: [policy, limiting.tellsIdle], make: () => made(policy, limiting) };
}

function made(policy: Requirements, { tellsIdle, watchIdle, tell }: Limiting): HTMLElement {
  const charging = box("only while it charges", policy.charging);
  const unmetered = box("only on Wi-Fi or Ethernet that is not metered", policy.unmetered);
  const idle = box("only while nobody uses it", policy.idle && tellsIdle !== "no", tellsIdle === "no");
  const [from, to] = [hour("from", policy.hours?.[0]), hour("to", policy.hours?.[1])];
  const form = el(
    "form",
    {},
    charging.label,
    unmetered.label,
    idle.label,
    el("p", { className: "quiet" }, IDLE_WORDS[tellsIdle]),
    el(
      "fieldset",
      {},
      el("legend", {}, "Only from hour to hour, in its own time (both empty: any)"),
      el("label", {}, "from", from),
      el("label", {}, "to", to),
    ),
    el("button", { type: "submit" }, "Save the limits"),
  );
  form.oninput = () => to.setCustomValidity("");
  form.onsubmit = (event) => {
    event.preventDefault();
    if ((from.value === "") !== (to.value === "")) {
      to.setCustomValidity("Give both hours, or none.");
      to.reportValidity();
      return;
    }
    const hours: Requirements["hours"] = from.value === "" ? null : [Number(from.value), Number(to.value)];
    const limits = { charging: charging.input.checked, unmetered: unmetered.input.checked, hours };
    const wants = idle.input.checked;
    const save = (): void => tell({ do: "choose", changes: { policy: { ...limits, idle: wants } } });
    if (wants) void watchIdle().finally(save);
    else save();
  };
  const part = section(
    "When it may train",
    el("p", { className: "quiet" }, "A federation can ask for more than you, never for less."),
    form,
    el(
      "p",
      { className: "quiet" },
      "No browser tells how warm the device is, so no limit can be set here. Under a plan that has one, and does not " +
        "let pass what cannot be told, it does not train.",
    ),
  );
  part.id = "limits";
  return part;
}

function box(
  words: string,
  checked: boolean,
  disabled = false,
): { readonly label: HTMLElement; readonly input: HTMLInputElement } {
  const input = el("input", { type: "checkbox", checked, disabled });
  return { input, label: el("label", { className: "choice" }, input, words) };
}

const hour = (name: string, value: number | undefined): HTMLInputElement =>
  el("input", { type: "number", name, min: "0", max: "23", inputMode: "numeric", value: value?.toString() ?? "" });
