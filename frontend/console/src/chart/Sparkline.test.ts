import { expect, it } from "vitest";
import { pathOf } from "./Sparkline";

it("goes from the least at the bottom to the greatest at the top", () => {
  expect(pathOf([1, 3, 2])).toBe("M1.0 27.0L60.0 1.0L119.0 14.0");
});

it("leaves out what is not there, at its place", () => {
  expect(pathOf([1, null, 2])).toBe("M1.0 27.0L119.0 1.0");
});

it("draws equal values in the middle, and nothing of one", () => {
  expect(pathOf([5, 5])).toBe("M1.0 14.0L119.0 14.0");
  expect(pathOf([5])).toBe("");
  expect(pathOf([null, null])).toBe("");
});
