/** The device's part of a plan: a mirror of `coterie_learning.device_plan`, with the kinds that a phone has. */
import * as v from "valibot";
import { checked, Requirements } from "../wire/messages";
import { CODEC, type Codec } from "./codec";
import { DRIFT } from "./drift";
import { HELP, type HelpRules } from "./help";
import { within } from "./kinds";
import { LOCAL } from "./local";
import type { Local } from "./local/interface";
import { PERSONAL, type PersonalRules } from "./personal";
import { PRIVACY, type Privacy } from "./privacy";

export interface DevicePlan {
  readonly local: Local;
  readonly codec: Codec;
  readonly privacy: Privacy;
  readonly requirements: Requirements;
  /** How devices help each other; null: they do not. */
  readonly help: HelpRules | null;
  /** Seconds between two trainings on new samples outside of rounds at least; null: it trains in rounds only. */
  readonly aloneEveryS: number | null;
  /** Whether that training leaves the newest batch out until there is a newer one, to compare versions on. */
  readonly sparesNewest: boolean;
  /** How the device trains a model of its own beside the version; null: it has none. */
  readonly personal: PersonalRules | null;
}

/** By slot, what the phone tells the platform that it has, so that it is invited to nothing else. */
export const OWN_KINDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  [LOCAL, CODEC, PRIVACY, HELP, DRIFT, PERSONAL].map(({ slot, names }) => [slot, names]),
);

const Slots = v.strictObject({
  local: v.unknown(),
  codec: v.unknown(),
  privacy: v.unknown(),
  requirements: Requirements,
  help: v.unknown(),
  alone_every_s: v.optional(v.nullable(within(0, 1e12)), null),
  spares_newest: v.optional(v.boolean(), false),
  personal: v.optional(v.unknown(), { kind: "none" }),
});

/** The plan that JSON stands for. Throws CodedError `plan.invalid` or `plan.unknown_kind`. */
export function parseDevicePlan(raw: unknown): DevicePlan {
  const slots = checked(Slots, raw, "plan.invalid", "device plan");
  const local = LOCAL.parse(slots.local);
  return {
    local,
    codec: CODEC.parse(slots.codec),
    privacy: PRIVACY.parse(slots.privacy),
    requirements: slots.requirements,
    help: HELP.parse(slots.help),
    aloneEveryS: slots.alone_every_s,
    sparesNewest: slots.spares_newest,
    personal: PERSONAL.parse(slots.personal).rules(local),
  };
}

/** The name of the kind in this slot; `none` also where the plan cannot be read. */
export function kindNamed(raw: unknown, slot: "privacy" | "help"): string {
  const found = v.safeParse(v.looseObject({ [slot]: v.looseObject({ kind: v.string() }) }), raw);
  return found.success ? (found.output[slot]?.kind ?? "none") : "none";
}

/** The name of the kind that covers updates; blank: none does, or the plan cannot be read. */
export function privacyNamed(raw: unknown): string {
  const name = kindNamed(raw, "privacy");
  return name === "none" ? "" : name;
}

/** What the plan asks of conditions, whatever else it is; null where it cannot be read. */
export function requirementsOf(raw: unknown): Requirements | null {
  const found = v.safeParse(v.looseObject({ requirements: Requirements }), raw);
  return found.success ? found.output.requirements : null;
}

/** Whether the plan has counts by class told under noise alone; so also one that cannot be read. */
export function hasProfileNoise(raw: unknown): boolean {
  const Help = v.object({ noise_multiplier: v.optional(v.number(), 0) });
  const found = v.safeParse(v.object({ help: v.optional(Help, {}) }), raw);
  return !found.success || found.output.help.noise_multiplier > 0;
}
