import { expect, it } from "vitest";
import { conditionLanes } from "./conditionLanes";

it("joins what did not change, and lasts until now", () => {
  const seen = (at: number, charging: string, blockers: string[]) => ({
    at: new Date(at * 1000).toISOString(),
    conditions: { charging, network: "wifi" },
    blockers: blockers.map((code) => ({ code })),
  });
  const lanes = conditionLanes([seen(30, "yes", []), seen(20, "no", ["b"]), seen(10, "no", ["b", "c"])], 40);
  const spans = Object.fromEntries(
    lanes.map((lane) => [lane.name, lane.spans.map(({ from, to, words }) => [from, to, words])]),
  );
  expect(spans).toEqual({
    trains: [
      [10, 30, "held back"],
      [30, 40, "it could train"],
    ],
    power: [
      [10, 30, "on battery"],
      [30, 40, "charging"],
    ],
    network: [[10, 40, "Wi-Fi"]],
    use: [[10, 40, "unknown"]],
  });
});

it("has nothing to show of a device that has told nothing", () => {
  expect(conditionLanes([], 40).every((lane) => lane.spans.length === 0)).toBe(true);
});
