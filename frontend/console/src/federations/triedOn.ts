import type { components } from "../api/schema";
import { t } from "../language/t";

type Asked = components["schemas"]["TryPlanRequest"];
type Scenario = NonNullable<Asked["scenario"]>;

/** Samples that come with the platform. */
export const SCENARIOS: readonly (readonly [Scenario, string])[] = [
  ["digits-alike", t`Digits: all devices alike`],
  ["digits-people", t`Digits: people who write differently`],
  ["digits-stationary", t`Digits: some classes a device`],
  ["digits-introduction", t`Digits: a new class arrives`],
  ["digits-fluctuation", t`Digits: a class comes and goes`],
  ["digits-shifted", t`Digits: labels that mean something else`],
  ["activities-running", t`Activities: running`],
  ["activities-stairs", t`Activities: stairs`],
  ["activities-unknown", t`Activities: an unknown one`],
  ["places", t`Places of persons`],
];

/** How a data set is spread over devices. */
export const SPLITS = [
  { value: "iid", label: "every device sees the same mix" },
  { value: "dirichlet:0.5", label: "mixes differ" },
  { value: "dirichlet:0.1", label: "mixes differ much" },
  { value: "pathological:2", label: "two classes a device" },
];

/** Devices have all their samples from the beginning. */
export const AT_ONCE = "none";
export const DRIFTS = [
  { value: AT_ONCE, label: "are all there from the beginning" },
  { value: "steady", label: "come little by little" },
  {
    value: "introduced:0.3",
    label: "come little by little; on three devices of ten a class is new in the second half",
  },
];

/** The federation's own devices, as they were lately. */
export const OWN = "own";
export const FLEETS = [
  { value: OWN, label: "this fleet, from its past" },
  { value: "phones", label: "phones, which charge at night" },
  { value: "kiosks", label: "kiosks" },
  { value: "gateways", label: "gateways" },
];

/** What a plan was tried with, in words. */
export function samplesOf({ scenario, dataset_name: name }: { scenario: string | null; dataset_name: string }): string {
  return SCENARIOS.find(([known]) => known === scenario)?.[1] ?? scenario ?? name;
}

/** How the samples were spread, in words; a split that nobody offers here is called as it was asked for. */
export function splitOf(split: string): string {
  return SPLITS.find(({ value }) => value === split)?.label ?? split;
}

/** How the samples came, in words. */
export function driftOf(drift: string): string {
  return DRIFTS.find(({ value }) => value === drift)?.label ?? drift;
}

const PROFILES: Readonly<Record<string, string>> = {
  phones: t`phones`,
  kiosks: t`kiosks`,
  gateways: t`gateways`,
};

/** What devices of a shipped fleet are called. */
export function profileOf(profile: string): string {
  return PROFILES[profile] ?? profile;
}
