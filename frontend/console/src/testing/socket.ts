import { act } from "@testing-library/react";
import { vi } from "vitest";

/** The console's socket, whose other end the test holds. */
export class FakeSocket {
  static readonly OPEN = 1;
  /** Every socket that was opened, in order. */
  static made: FakeSocket[] = [];

  /** From now on the console opens these; `vi.unstubAllGlobals` ends it. */
  static install(): void {
    FakeSocket.made = [];
    vi.stubGlobal("WebSocket", FakeSocket);
  }

  /** The socket that was opened last. */
  static get latest(): FakeSocket {
    const last = FakeSocket.made.at(-1);
    if (last === undefined) throw new Error("the console has opened no socket");
    return last;
  }

  readyState = FakeSocket.OPEN;
  /** What the console said. */
  sent: unknown[] = [];
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onclose?: () => void;

  constructor(readonly url: string) {
    FakeSocket.made.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.onclose?.();
  }

  /** The platform says something. */
  says(frame: object): void {
    act(() => this.onmessage?.({ data: JSON.stringify(frame) }));
  }
}
