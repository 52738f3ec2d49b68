/** What the owner reads before the device joins. */
import * as v from "valibot";
import { Link } from "../device/link";
import { Count, Requirements } from "../wire/messages";

const Invitation = v.object({
  devices_left: Count,
  expires_s: v.number(),
  learned: v.optional(
    v.array(
      v.object({ name: v.string(), labels: v.array(v.string()), requirements: Requirements, privacy: v.string() }),
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

/** Throws Unreachable or Refused. */
export function readInvitation(token: string): Promise<Invitation> {
  return new Link(null, async () => {}).call("read-invitation", { token }, Invitation);
}

const PRIVACY: Readonly<Record<string, string>> = {
  none: "The platform can read what your device learned, though not your data.",
  clip: "The platform can read what your device learned, though not your data; no device counts too much.",
  central_noise: "The platform adds noise before anybody sees what all devices learned together.",
};

/** What hides the updates of a plan, in plain words. */
export const privacyOf = (kind: string): string =>
  PRIVACY[kind] ?? "This browser cannot take part in it yet: how it hides what devices learned needs the full agent.";

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
