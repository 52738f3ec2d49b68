/** Why the device does not train now, in the agent's own words: a mirror of `coterie_agent.policy`. Pure. */
import { featuresOf, targetsOf } from "../learning/contract";
import { classesOf, type ModelSpec } from "../wire/bundle";
import { isWithin } from "../wire/hours";
import type { Conditions, Reason, Requirements } from "../wire/messages";

/** The blockers that also hold back downloads and uploads; the others hold back training alone. */
const NETWORK_CODES = new Set(["conditions.offline", "conditions.metered", "conditions.network_unknown"]);
const LEAST_FREE_BYTES = 8 << 20;

/** What the owner asks where nothing else is said: as the agent's settings. */
export const OWNER_DEFAULT = {
  charging: true,
  unmetered: true,
  idle: false,
  max_temperature_c: null,
  hours: null,
  unknown: "refuse",
} as const;

/** What is known of the samples: numbers of each, and how many are set aside, as the model does not know their label. */
export interface Held {
  readonly samples: number;
  readonly features: number;
  readonly targets: number;
  readonly aside: number;
}

/**
 * Both `plan` (null: no federation asks) and `owner` must be met; each condition that is not gives one reason.
 * `hour` is the local one, 0 to 23.
 */
export function judge(plan: Requirements | null, owner: Requirements, conditions: Conditions, hour: number): Reason[] {
  const asked: [string, Requirements][] = [
    ...(plan === null ? [] : [["the plan", plan] as [string, Requirements]]),
    ["the owner", owner],
  ];
  const reasons = new Map<string, Reason>();
  for (const [who, required] of asked) {
    for (const reason of unmet(who, required, conditions, hour)) {
      if (!reasons.has(reason.code)) reasons.set(reason.code, reason);
    }
  }
  return [...reasons.values()];
}

export const blocksNetwork = (blockers: readonly Reason[]): boolean =>
  blockers.some(({ code }) => NETWORK_CODES.has(code));

function* unmet(
  who: string,
  required: Requirements,
  { charging, network, idle }: Conditions,
  hour: number,
): Generator<Reason> {
  const refusesUnknown = required.unknown === "refuse";
  if (required.charging) {
    if (charging === "no") {
      yield reason("conditions.on_battery", `on battery; ${who} asks for charging`);
    } else if (charging === "unknown" && refusesUnknown) {
      yield reason("conditions.power_unknown", `cannot tell whether it is charging; ${who} asks for charging`);
    }
  }
  if (network === "none") {
    yield reason("conditions.offline", "no network");
  } else if (required.unmetered) {
    if (network === "metered") {
      yield reason("conditions.metered", `on a metered network; ${who} asks for Wi-Fi or Ethernet`);
    } else if (network === "unknown" && refusesUnknown) {
      yield reason("conditions.network_unknown", `cannot tell which network; ${who} asks for Wi-Fi or Ethernet`);
    }
  }
  if (required.idle) {
    if (idle === "no") {
      yield reason("conditions.in_use", `in use; ${who} asks for an idle device`);
    } else if (idle === "unknown" && refusesUnknown) {
      yield reason("conditions.idle_unknown", `cannot tell whether it is in use; ${who} asks for an idle device`);
    }
  }
  if (required.max_temperature_c !== null && refusesUnknown) {
    // No browser tells the temperature.
    const limit = Number(required.max_temperature_c.toPrecision(6));
    yield reason("conditions.temperature_unknown", `cannot tell its temperature; ${who} allows ${limit} °C`);
  }
  if (required.hours !== null && !isWithin(required.hours, hour)) {
    const [start, end] = required.hours;
    yield reason("conditions.outside_hours", `${hour}:00; ${who} allows ${start}:00 to ${end}:00`);
  }
}

/** Why the device has no room to train; `freeBytes` is null where the browser does not tell. */
export function judgeSpace(freeBytes: number | null): Reason[] {
  if (freeBytes === null || freeBytes >= LEAST_FREE_BYTES) return [];
  const sentence = `the device's disk is full: ${freeBytes >> 20} MiB are free, ${LEAST_FREE_BYTES >> 20} MiB are needed`;
  return [reason("store.full", sentence)];
}

/** Why the device's samples cannot train `model` (null: not known yet). */
export function judgeData(held: Held, model: ModelSpec | null): Reason[] {
  if (held.samples === 0) {
    return [reason("data.no_samples", "no samples on the device yet; add some from a file on this page")];
  }
  if (model === null) return [];
  if (held.features !== featuresOf(model)) {
    return [misfit(`samples have ${held.features} features, the model takes ${featuresOf(model)}`)];
  }
  const wanted = targetsOf(model);
  if (held.targets !== wanted) {
    const [found, asked] = [held.targets, wanted].map((count) =>
      count > 0 ? `targets of ${count} numbers` : "classes",
    );
    return [misfit(`samples have ${found}, the model learns ${asked}`)];
  }
  if (held.aside === held.samples) {
    return [misfit(`no label is one of the model's classes, which end at ${classesOf(model) - 1}`)];
  }
  return [];
}

const reason = (code: string, sentence: string): Reason => ({ code, sentence });
const misfit = (sentence: string): Reason => reason("data.does_not_fit", sentence);
