import { shortPercent } from "../components/units";
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

/** Kinds of faults that the platform finds, in words. */
export const FAULTS: Readonly<Record<string, string>> = {
  blob_damaged: t`a stored file is damaged`,
  device_copied: t`two agents run as one device`,
  device_distrusted: t`a device's updates are left out`,
  device_quarantined: t`a device is in quarantine`,
  devices_silent: t`devices are silent`,
  disk_almost_full: t`the disk is almost full`,
  files_damaged: t`files are damaged`,
  job_failed: t`a job failed`,
  jobs_unconfined: t`jobs are not confined`,
  kept_back: t`a federation is kept from its rounds`,
  merge_again: t`updates can be merged again`,
  merge_fails: t`a merge fails`,
  needs_devices: t`a federation needs devices`,
  no_model: t`a model pair has no version`,
  pair_rejected: t`a model pair was rejected`,
  rolled_back: t`a version was rolled back`,
  rounds_abandoned: t`rounds are abandoned`,
  server_away: t`a server is away`,
  signing_key_changed: t`the signing key was changed`,
  token_expires: t`an API token expires`,
  updates_damaged: t`updates are damaged`,
  updates_rejected: t`updates are rejected`,
};

/** A threshold as the platform takes it: shares are of 1. */
export function toPlatform(kind: RuleKind, shown: number): number {
  return WATCHED[kind].threshold?.unit === "%" ? Number((shown / 100).toFixed(6)) : shown;
}

/** A rule in a sentence. */
export function inWords({ kind, threshold: limit, code, least, federation_name }: Rule): string {
  const of = federation_name ? t` of ${federation_name}` : "";
  const threshold = limit ?? 0;
  switch (kind) {
    case "repair":
      return faultInWords(least === "error", code ?? "");
    case "job_failed":
      return t`a job fails`;
    case "accuracy_below":
      return t`the champion${of} is less than ${shortPercent(threshold)} accurate`;
    case "online_below":
      return t`fewer than ${shortPercent(threshold)} of the devices${of} are online`;
    case "unpublished_for":
      return t`no round${of} is published for ${threshold} h`;
    case "rounds_left_below":
      return t`the privacy budgets${of} pay fewer than ${threshold} rounds`;
  }
}

function faultInWords(isError: boolean, code: string): string {
  if (code === "") return isError ? t`an error among the repairs` : t`any fault among the repairs`;
  const fault = FAULTS[code] ?? code;
  return isError ? t`an error among the repairs: ${fault}` : t`any fault among the repairs: ${fault}`;
}
