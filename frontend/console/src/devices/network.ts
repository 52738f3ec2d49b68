const WORDS: Readonly<Record<string, string>> = {
  wifi: "Wi-Fi",
  ethernet: "Ethernet",
  metered: "metered",
  none: "none",
};

/** A device's network as people call it. */
export function networkOf(reported: unknown): string {
  return (typeof reported === "string" ? WORDS[reported] : undefined) ?? "unknown";
}
