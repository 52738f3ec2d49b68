const WORDS: Readonly<Record<string, string>> = {
  wifi: "Wi-Fi",
  ethernet: "Ethernet",
  metered: "metered",
  none: "none",
};

/** A device's network as people call it. */
export function networkOf(told: unknown): string {
  return (typeof told === "string" ? WORDS[told] : undefined) ?? "unknown";
}
