/**
 * What the browser tells of the device's conditions, with the owner's word where it tells nothing.
 *
 * The word counts until the page is hidden, the network changes or four hours have passed: then nobody looks any more.
 */
import type { Conditions } from "../wire/messages";
import type { TellsIdle } from "./limits";

interface Battery extends EventTarget {
  readonly charging: boolean;
}

interface Connection extends EventTarget {
  readonly type?: string;
  readonly saveData?: boolean;
}

/** Of Chromium alone (Idle Detection API). */
interface IdleDetector extends EventTarget {
  readonly userState: "active" | "idle" | null;
  readonly screenState: "locked" | "unlocked" | null;
  start(options: { threshold: number }): Promise<void>;
}

interface IdleDetecting {
  new (): IdleDetector;
  requestPermission(): Promise<PermissionState>;
}

type Named = "charging" | "network";
const WORD_LASTS_MS = 4 * 3600 * 1000;
/** The shortest after which a browser says that nobody uses the device. */
const IDLE_AFTER_MS = 60_000;
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
  private idle: IdleDetector | null = null;
  private readonly detecting = (globalThis as { IdleDetector?: IdleDetecting }).IdleDetector ?? null;
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
    await this.detectIdle();
    this.changed();
  }

  /** Whether the browser tells if somebody uses the device. */
  get tellsIdle(): TellsIdle {
    if (this.detecting === null) return "no";
    return this.idle === null ? "if allowed" : "yes";
  }

  /** Have the browser ask the owner whether it may tell, as it does only while a tap is answered. */
  async watchIdle(): Promise<void> {
    if (this.detecting === null || this.idle !== null) return;
    if ((await this.detecting.requestPermission()) === "granted") await this.detectIdle();
    this.changed();
  }

  private async detectIdle(): Promise<void> {
    if (this.detecting === null) return;
    const detector = new this.detecting();
    try {
      await detector.start({ threshold: IDLE_AFTER_MS });
    } catch {
      return; // the owner has not let it, or not yet
    }
    detector.addEventListener("change", this.changed);
    this.idle = detector;
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
    return { charging, network: networkOf(connection), idle: idleOf(this.idle), temperature_c: null };
  }
}

function idleOf(detector: IdleDetector | null): Conditions["idle"] {
  if (detector === null || detector.userState === null) return "unknown";
  return detector.userState === "idle" || detector.screenState === "locked" ? "yes" : "no";
}

function networkOf(connection: Connection | undefined): Conditions["network"] {
  if (!navigator.onLine) return "none";
  if (connection?.saveData) return "metered";
  return NETWORKS[connection?.type ?? ""] ?? "unknown";
}
