/** What the owner reads before the device joins. */
import * as v from "valibot";
import { Link } from "../device/link";
import { Count, Requirements } from "../wire/messages";

const Invitation = v.object({
  devices_left: Count,
  expires_s: v.number(),
  learned: v.optional(
    v.array(
      v.object({
        name: v.string(),
        labels: v.array(v.string()),
        requirements: Requirements,
        privacy: v.string(),
        help: v.optional(v.string(), "none"),
      }),
    ),
    [],
  ),
});
export type Invitation = v.InferOutput<typeof Invitation>;

/** The secret of the address, which is removed from it at once; null: there is none. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("join");
  if (token !== null) history.replaceState(null, "", location.pathname);
  return token;
}

/** `drawn` is the credential that the device joins with. Throws Unreachable or Refused. */
export function readInvitation(token: string, drawn: string): Promise<Invitation> {
  return new Link(drawn, async () => {}).call("read-invitation", { token }, Invitation);
}

const PRIVACY: Readonly<Record<string, string>> = {
  none: "The platform can read what your device learned, though not your data.",
  clip: "The platform can read what your device learned, though not your data; no device counts too much.",
  central_noise: "The platform adds noise before anybody sees what all devices learned together.",
  correlated_noise: "The platform adds noise before anybody sees what all devices learned together.",
  local_noise: "Your device adds noise to what it learned before anything of it leaves.",
  secure_aggregation: "Nobody can read what your device learned, only what many devices learned together.",
  distributed_noise: "Nobody can read what your device learned, only what many learned together, with noise of theirs.",
};

/** What hides the updates of a plan, in plain words. */
export const privacyOf = (kind: string): string =>
  PRIVACY[kind] ?? "This browser cannot take part in it yet: how it hides what devices learned needs the full agent.";

const HELP: Readonly<Record<string, string>> = {
  cartel:
    "Devices help each other: yours tells how its own model does on each class, and a part of that model may go to a " +
    "device that asks for help, by the platform; yours may ask, too. What it tells, and whether it helps, you choose " +
    "after joining.",
};

/** How the devices of a plan help each other, in plain words; null: they do not. */
export const helpOf = (kind: string): string | null =>
  kind === "none"
    ? null
    : (HELP[kind] ?? "Devices help each other in a way that this browser cannot take part in yet.");

/** What holds before and while a device trains, in plain words. */
export function conditionsOf(asked: Requirements): string {
  const parts = [
    ...(asked.charging ? ["it is charging"] : []),
    ...(asked.unmetered ? ["it is on Wi-Fi or Ethernet"] : []),
    ...(asked.idle ? ["nobody uses it"] : []),
    ...(asked.hours === null ? [] : [`it is between ${asked.hours[0]}:00 and ${asked.hours[1]}:00`]),
  ];
  return parts.length === 0
    ? "at any time while this page is open"
    : `while this page is open and ${parts.join(", and ")}`;
}
