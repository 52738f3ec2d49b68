/** What the device does with others that help each other, how that went, and what its owner lets it do. */
import { digits } from "../device/budget";
import type { PeersStatus } from "../device/peers/member";
import { PEERS_DEFAULT, type PeersChoices, type Telling } from "../device/sharing";
import type { Command, Shown } from "../protocol";
import { covering } from "./covering";
import { el, list, section } from "./dom";
import type { Part } from "./owner";

const TOLD: Readonly<Record<Telling, string>> = {
  counts: "counts by class, seen and right",
  rounded: "the same, rounded",
  classes: "only which classes; it helps nobody",
  nothing: "nothing; it neither helps nor asks",
};

/** None where the plan has devices do nothing with each other. */
export function peersPart({ peers, choices }: Shown, tell: (command: Command) => void): Part[] {
  if (peers === null) return [];
  const chosen = choices.peers ?? PEERS_DEFAULT;
  const choose = (changes: Partial<PeersChoices>): void => tell({ do: "choose", changes: { peers: changes } });
  return [{ key: "peers", state: [peers, chosen], make: () => made(peers, chosen, choose) }];
}

function made(
  status: PeersStatus,
  chosen: PeersChoices,
  choose: (changes: Partial<PeersChoices>) => void,
): HTMLElement {
  const { federation, wait, noise, helped } = status;
  const { ask, helpOthers, tell } = chosen;
  const telling = el("select", { id: "telling" });
  for (const [value, words] of Object.entries(TOLD)) {
    telling.append(el("option", { value, selected: value === tell }, words));
  }
  telling.onchange = () => choose({ tell: telling.value as Telling });
  const part = section(
    "Help between devices",
    el(
      "p",
      {},
      `In ${federation}, a device whose own model fails gets a part of the model of a device that does better, by the platform. Your samples stay here.`,
    ),
    el("p", {}, stateOf(status)),
    wait === null ? null : el("p", {}, wait.sentence),
    noise === null
      ? null
      : el(
          "p",
          { className: "quiet" },
          `What it tells of its samples has noise: epsilon ${digits(noise.epsilon)} of one sample, at delta ${noise.delta}.`,
        ),
    helped.length === 0
      ? el("p", { className: "quiet" }, "No help was given or got yet.")
      : list(
          helped.map(
            ({ at, sentence, privacy }) =>
              `${new Date(at).toLocaleString()}: ${sentence}${privacy === undefined ? "" : `; ${covering(privacy)}`}`,
          ),
        ),
    el("label", { htmlFor: "telling" }, "What the platform is told of the samples"),
    telling,
    el(
      "button",
      { type: "button", onclick: () => choose({ ask: !ask }) },
      ask ? "Do not ask others for help" : "Ask others for help",
    ),
    el(
      "button",
      { type: "button", onclick: () => choose({ helpOthers: !helpOthers }) },
      helpOthers ? "Do not help others" : "Help others",
    ),
  );
  part.id = "peers";
  return part;
}

function stateOf({ batches, error, drifting, needs }: PeersStatus): string {
  if (error === null) return "Its own model was not tried on new samples yet.";
  const right = `Of the newest samples its own model has ${(100 * (1 - error)).toFixed(1)} % right`;
  const failing = drifting
    ? `; it fails${needs.length > 0 ? ` on ${needs.map((one) => `class ${one}`).join(", ")}` : ""}`
    : "";
  return `${right}, after ${batches.toLocaleString()} batches${failing}.`;
}
