import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeSocket } from "../testing/socket";
import { backoff, Line, type Standing } from "./line";

let standing: Standing[];
let line: Line;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
  standing = [];
  line = new Line("ws://x", { onFrame: () => undefined, onStanding: (now) => standing.push(now) });
});

afterEach(() => {
  line.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("says what it knows already when it comes back", () => {
  const first = FakeSocket.made[0];
  first?.onopen?.();
  expect(first?.sent).toEqual([{ frame: "hello", epoch: "", number: 0, devices: [] }]);
  first?.says({ frame: "snapshot", epoch: "e", number: 7, documents: [] });
  line.watch(["d"]);
  first?.close();
  vi.advanceTimersByTime(1000);
  const second = FakeSocket.made[1];
  second?.onopen?.();
  expect(second?.sent).toEqual([{ frame: "hello", epoch: "e", number: 7, devices: ["d"] }]);
});

it("is stale when the platform falls silent, and comes back by itself", () => {
  FakeSocket.made[0]?.says({ frame: "tick", number: 1, at: "" });
  vi.advanceTimersByTime(14_000);
  expect(standing.at(-1)).toBe("live");
  vi.advanceTimersByTime(2_000);
  expect(standing.at(-1)).toBe("stale");
  vi.advanceTimersByTime(1_000);
  FakeSocket.made[1]?.says({ frame: "tick", number: 1, at: "" });
  expect(standing.at(-1)).toBe("live");
});

it("waits longer after each failure, half a minute at most", () => {
  expect(backoff(1, 1)).toBe(500);
  expect(backoff(2, 1)).toBe(1000);
  expect(backoff(3, 0)).toBe(1000);
  expect(backoff(50, 1)).toBe(30_000);
});
