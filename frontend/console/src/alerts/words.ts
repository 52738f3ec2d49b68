import { t } from "../language/t";
import type { ChannelKind, Rule, RuleKind, Severity } from "./queries";

/** How a kind of rule is spoken of, and what its threshold counts. */
interface Watched {
  readonly label: string;
  readonly help: string;
  /** Without, it compares with nothing. */
  readonly threshold?: { readonly label: string; readonly unit: "%" | "h" | "rounds"; readonly usual: number };
  /** Whether it can be of one federation alone. */
  readonly narrow: boolean;
}

export const WATCHED: Readonly<Record<RuleKind, Watched>> = {
  repair: {
    label: "a fault among the repairs",
    help: "What the overview lists under Repairs. What is muted there is not told.",
    narrow: false,
  },
  job_failed: { label: "a job that fails", help: "Bootstraps, distillations and quantisations.", narrow: false },
  accuracy_below: {
    label: "a champion that is not accurate enough",
    help: "As measured on the held-out data. A champion that nobody has measured is not judged.",
    threshold: { label: "Accuracy below", unit: "%", usual: 90 },
    narrow: true,
  },
  online_below: {
    label: "too few devices online",
    help: "Of those enrolled; of a federation, of its members.",
    threshold: { label: "Online below", unit: "%", usual: 50 },
    narrow: true,
  },
  unpublished_for: {
    label: "no round published for long",
    help: "Of running federations; one that never has counts from its first round.",
    threshold: { label: "Longer than", unit: "h", usual: 24 },
    narrow: true,
  },
  rounds_left_below: {
    label: "privacy budgets that are nearly spent",
    help: "How many more rounds they pay, as the federation's privacy page foresees.",
    threshold: { label: "Fewer than", unit: "rounds", usual: 20 },
    narrow: true,
  },
};

/** How the unit of a threshold is written behind it. */
export const UNITS = { "%": "%", h: "h", rounds: t`rounds` } as const;

export const RULE_KINDS = (Object.keys(WATCHED) as RuleKind[]).map((value) => ({ value, label: WATCHED[value].label }));

export const SEVERITIES: readonly { value: Severity; label: string }[] = [
  { value: "error", label: "error" },
  { value: "warning", label: "warning" },
];

export const CHANNEL_KINDS: readonly { value: ChannelKind; label: string }[] = [
  { value: "email", label: "e-mail" },
  { value: "slack", label: "Slack" },
  { value: "teams", label: "Microsoft Teams" },
  { value: "webhook", label: "webhook" },
];

/** Where people find the URL of a kind of channel. */
export const WHERE_FROM: Readonly<Record<Exclude<ChannelKind, "email">, string>> = {
  slack: t`of an incoming webhook: Slack, Apps, Incoming WebHooks`,
  teams: t`of a workflow that posts to a channel when a webhook request is received`,
  webhook: t`your program gets JSON, signed as Standard Webhooks describes`,
};

/** Kinds of faults that the platform finds, for the field's suggestions. */
export const FAULTS = [
  "blob_damaged",
  "device_distrusted",
  "device_quarantined",
  "devices_silent",
  "disk_almost_full",
  "files_damaged",
  "job_failed",
  "jobs_unconfined",
  "kept_back",
  "merge_again",
  "merge_fails",
  "needs_devices",
  "no_model",
  "pair_rejected",
  "rolled_back",
  "rounds_abandoned",
  "server_away",
  "signing_key_changed",
  "token_expires",
  "updates_damaged",
  "updates_rejected",
] as const;

/** A threshold as the platform takes it: shares are of 1. */
export function toPlatform(kind: RuleKind, shown: number): number {
  return WATCHED[kind].threshold?.unit === "%" ? Number((shown / 100).toFixed(6)) : shown;
}

/** A rule in a sentence. */
export function inWords({ kind, threshold: limit, code, least, federation_slug }: Rule): string {
  const of = federation_slug ? t` of ${federation_slug}` : "";
  const threshold = limit ?? 0;
  switch (kind) {
    case "repair":
      return faultInWords(least === "error", code ?? "");
    case "job_failed":
      return t`a job fails`;
    case "accuracy_below":
      return t`the champion${of} is less than ${percent(threshold)} accurate`;
    case "online_below":
      return t`fewer than ${percent(threshold)} of the devices${of} are online`;
    case "unpublished_for":
      return t`no round${of} is published for ${threshold} h`;
    case "rounds_left_below":
      return t`the privacy budgets${of} pay fewer than ${threshold} rounds`;
  }
}

function faultInWords(isError: boolean, code: string): string {
  if (code === "") return isError ? t`an error among the repairs` : t`any fault among the repairs`;
  return isError
    ? t`an error among the repairs of the kind ${code}`
    : t`any fault among the repairs of the kind ${code}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}
