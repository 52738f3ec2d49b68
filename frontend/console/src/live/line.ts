import { type Frame, type Known, knownAfter, NOTHING } from "./frames";

/** Whether what is shown is what is: the platform speaks every few seconds, or it is not to be trusted. */
export type Standing = "connecting" | "live" | "stale";

interface Heard {
  readonly onFrame: (frame: Frame) => void;
  readonly onStanding: (standing: Standing) => void;
}

const SILENCE_MS = 15_000;
const LONGEST_MS = 30_000;

/** The console's socket, which comes back by itself and says what it knows already. */
export class Line {
  private known: Known = NOTHING;
  private devices: readonly string[] = [];
  private socket: WebSocket | undefined;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(
    private readonly url: string,
    private readonly heard: Heard,
  ) {
    this.connect();
  }

  /** Follow these devices from now on, instead of those before. */
  watch(devices: readonly string[]): void {
    this.devices = devices;
    if (this.socket?.readyState === WebSocket.OPEN) this.send({ frame: "watch", devices });
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private connect(): void {
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => this.send({ frame: "hello", ...this.known, devices: this.devices });
    socket.onmessage = (message) => {
      const frame = JSON.parse(String(message.data)) as Frame;
      this.failures = 0;
      this.known = knownAfter(this.known, frame);
      this.heard.onStanding("live");
      this.expectMore(socket);
      this.heard.onFrame(frame);
    };
    socket.onclose = () => {
      clearTimeout(this.timer);
      if (this.closed) return;
      this.failures += 1;
      if (this.failures > 1) this.heard.onStanding("stale");
      this.timer = setTimeout(() => this.connect(), backoff(this.failures, Math.random()));
    };
    this.expectMore(socket);
  }

  /** A line that says nothing for so long is dead, whatever the browser thinks of it. */
  private expectMore(socket: WebSocket): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.heard.onStanding("stale");
      socket.close();
    }, SILENCE_MS);
  }

  private send(frame: object): void {
    this.socket?.send(JSON.stringify(frame));
  }
}

/** Milliseconds until the next attempt: twice as long after each failure, and not all consoles at once. */
export function backoff(failures: number, chance: number): number {
  return Math.min(LONGEST_MS, 500 * 2 ** (failures - 1)) * (0.5 + chance / 2);
}
