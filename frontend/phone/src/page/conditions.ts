/**
 * What the browser tells of the device's conditions, with the owner's word where it tells nothing.
 *
 * The word counts until the page is hidden, the network changes or four hours have passed: then nobody looks any more.
 */
import type { Conditions } from "../wire/messages";

interface Battery extends EventTarget {
  readonly charging: boolean;
}

interface Connection extends EventTarget {
  readonly type?: string;
  readonly saveData?: boolean;
}

type Named = "charging" | "network";
const WORD_LASTS_MS = 4 * 3600 * 1000;
const NETWORKS: Readonly<Record<string, Conditions["network"]>> = {
  wifi: "wifi",
  ethernet: "ethernet",
  cellular: "metered",
  wimax: "metered",
  bluetooth: "metered",
  none: "none",
};

export class Probes {
  private battery: Battery | null = null;
  private readonly words = new Map<Named, number>();

  /** `changed` is called whenever anything may have changed. */
  constructor(private readonly changed: () => void) {}

  async start(): Promise<void> {
    const { getBattery, connection } = navigator as { getBattery?: () => Promise<Battery>; connection?: Connection };
    const forget = (): void => {
      this.words.clear();
      this.changed();
    };
    connection?.addEventListener("change", forget);
    addEventListener("online", forget);
    addEventListener("offline", forget);
    document.addEventListener("visibilitychange", () => (document.hidden ? forget() : this.changed()));
    try {
      this.battery = (await getBattery?.call(navigator)) ?? null;
    } catch {
      this.battery = null; // a page's policy may forbid it
    }
    this.battery?.addEventListener("chargingchange", this.changed);
    this.changed();
  }

  /** The owner says that it is charging, or on Wi-Fi. */
  confirm(what: Named): void {
    this.words.set(what, Date.now());
    this.changed();
  }

  /** What the browser does not tell, so that the owner may. */
  unknown(): Named[] {
    const read = this.read();
    return (["charging", "network"] as const).filter((what) => read[what] === "unknown");
  }

  /** What the owner's word stands for now. */
  confirmed(): Named[] {
    const now = Date.now();
    return this.unknown().filter((what) => now - (this.words.get(what) ?? 0) < WORD_LASTS_MS);
  }

  conditions(): Conditions {
    const confirmed = this.confirmed();
    const read = this.read();
    return {
      ...read,
      charging: confirmed.includes("charging") ? "yes" : read.charging,
      network: confirmed.includes("network") ? "wifi" : read.network,
      ...(confirmed.length > 0 ? { confirmed } : {}),
    };
  }

  private read(): Conditions {
    const { connection } = navigator as { connection?: Connection };
    const charging = this.battery === null ? "unknown" : this.battery.charging ? "yes" : "no";
    return { charging, network: networkOf(connection), idle: "unknown", temperature_c: null };
  }
}

function networkOf(connection: Connection | undefined): Conditions["network"] {
  if (!navigator.onLine) return "none";
  if (connection?.saveData) return "metered";
  return NETWORKS[connection?.type ?? ""] ?? "unknown";
}
