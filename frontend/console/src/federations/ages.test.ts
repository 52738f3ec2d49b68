import { expect, test } from "vitest";
import { byAge } from "./ages";

test("every age up to the oldest has a bar", () => {
  const { names, series } = byAge([
    { staleness: 0, updates: 3, left_out: 0 },
    { staleness: 3, updates: 1, left_out: 0 },
  ]);
  expect(names).toEqual(["0", "1", "2", "3"]);
  expect(series).toEqual([{ label: "updates", values: [3, 0, 0, 1] }]);
});

test("what was left out stands beside what was merged", () => {
  const { series } = byAge([{ staleness: 1, updates: 5, left_out: 2 }]);
  expect(series).toEqual([
    { label: "left out", values: [0, 2] },
    { label: "updates", values: [0, 3] },
  ]);
});
