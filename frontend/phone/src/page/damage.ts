/** What the disk of the device has damaged, and what became of it. */
import type { Damage } from "../device/kept";
import { el, list, section } from "./dom";

export function damagePart(damage: readonly Damage[], read: () => void): HTMLElement {
  const lines = damage.map(({ sentence, count, at }) => {
    const often = count === 1 ? "" : ` (${count.toLocaleString()} times)`;
    return `${new Date(at).toLocaleString()}: ${sentence}${often}`;
  });
  const made = section(
    "What this device's disk has damaged",
    list(lines),
    el("button", { type: "button", onclick: read }, "I have read it"),
  );
  made.id = "damage";
  return made;
}
