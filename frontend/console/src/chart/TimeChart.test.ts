import { expect, it } from "vitest";
import { SHARE } from "./bounds";
import { rangeOf, valueAt } from "./TimeChart";

const TIMES = [0, 10, 20, 30];

it("never shows more than all, or less than nothing", () => {
  expect(rangeOf(0.9, 0.999, SHARE)[1]).toBe(1);
  expect(rangeOf(0, 0.3, SHARE)[0]).toBeCloseTo(0);
  expect(rangeOf(null, null)).toEqual([0, 1]);
});

it("finds the value that is nearest, across gaps", () => {
  expect(valueAt(TIMES, [1, null, null, 4], 12, 1)).toBe(1);
  expect(valueAt(TIMES, [1, null, null, 4], 18, 1)).toBe(4);
});

it("says nothing before and after a line", () => {
  expect(valueAt(TIMES, [null, 2, 3, null], 5, 1)).toBeNull();
  expect(valueAt(TIMES, [null, 2, 3, null], 20.5, 1)).toBe(3);
  expect(valueAt(TIMES, [null, 2, 3, null], 29, 1)).toBeNull();
});

it("holds a value until the next", () => {
  expect(valueAt(TIMES, [1, 2, null, 4], 29, "held")).toBe(2);
  expect(valueAt(TIMES, [null, 2, null, 4], 5, "held")).toBeNull();
});
