import type { QueryKey } from "@tanstack/react-query";

/** What the platform says on the console's socket; `number` counts events within one epoch. */
export type Frame =
  | {
      readonly frame: "snapshot";
      readonly number: number;
      readonly epoch: string;
      readonly documents: readonly Changed[];
    }
  | { readonly frame: "changed"; readonly number: number; readonly document: Changed }
  | { readonly frame: "gone"; readonly number: number; readonly kind: string; readonly id: string }
  | { readonly frame: "tick"; readonly number: number; readonly at: string };

interface Changed {
  readonly kind: string;
  readonly id: string;
}

/** What this console knows already, said first: the platform then tells what was missed, or everything. */
export interface Known {
  readonly epoch: string;
  readonly number: number;
}

export const NOTHING: Known = { epoch: "", number: 0 };

export function knownAfter(known: Known, frame: Frame): Known {
  return { epoch: frame.frame === "snapshot" ? frame.epoch : known.epoch, number: frame.number };
}

const ANSWERS: Readonly<Record<string, readonly QueryKey[]>> = {
  alliances: [["alliances"]],
  audit: [
    ["audit"],
    ["privacy"],
    ["operators"],
    ["tokens"],
    ["webhooks"],
    ["webhook-deliveries"],
    ["saved-filters"],
    ["second-factor"],
    ["browser-sessions"],
    ["alert-channels"],
    ["alert-rules"],
    ["alert-notices"],
  ],
  device: [["devices"]],
  enrolment_token: [["enrolment-tokens"]],
  federation: [["federations"], ["federation-figures"], ["overview"], ["rounds"], ["repairs"]],
  fleet: [["devices"], ["overview"]],
  help: [["help"]],
  job: [["jobs"], ["cluster"], ["plan-forecasts"], ["overview"]],
  pair: [["pairs"], ["versions"], ["jobs"], ["repairs"]],
  part: [["rounds"], ["devices"], ["device-figures"]],
  repairs: [["repairs"], ["overview"]],
  question: [["analytics"], ["privacy"]],
  evaluation: [["evaluations"]],
  simulations: [["simulation-runs"]],
  rollout: [["rollouts"], ["repairs"]],
  agent_rollout: [["agent-rollouts"], ["agent-versions"]],
  round: [
    ["rounds"],
    ["plan-forecasts"],
    ["round-forecasts"],
    ["federation-figures"],
    ["groups"],
    ["privacy"],
    ["overview"],
  ],
};

/** The answers of the REST API that a frame makes old; after a snapshot all of them may be. */
export function outdatedBy(frame: Frame): readonly QueryKey[] {
  switch (frame.frame) {
    case "snapshot":
      return Object.values(ANSWERS).flat();
    case "changed":
      return ANSWERS[frame.document.kind] ?? [];
    case "gone":
      return ANSWERS[frame.kind] ?? [];
    case "tick":
      return [];
  }
}
