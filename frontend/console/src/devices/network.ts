import { t } from "../language/t";

const WORDS: Readonly<Record<string, string>> = {
  wifi: t`Wi-Fi`,
  ethernet: t`Ethernet`,
  metered: t`metered`,
  none: t`none`,
};

/** A device's network as people call it. */
export function networkOf(reported: unknown): string {
  return (typeof reported === "string" ? WORDS[reported] : undefined) ?? t`unknown`;
}
