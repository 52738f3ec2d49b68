import { expect, test } from "vitest";
import { bucketOf, counted, quantileS, scaled, totalOf } from "./latency";

test("durations fall into the buckets of the agent's histogram", () => {
  expect([0, 1e-6, 1.2e-6, 2e-6, 1e-3, 3600].map(bucketOf)).toEqual([0, 0, 1, 4, 39, 99]);
  const counts = counted([
    [1e-6, 2],
    [2e-6, 3],
  ]);
  expect(counts).toEqual([2, 0, 0, 0, 3]);
  expect(totalOf(counts)).toBe(5);
});

test("a quantile is the middle of its bucket, within 9 %", () => {
  const counts = counted([
    [1e-3, 98],
    [5e-2, 2],
  ]);
  expect(Math.abs((quantileS(counts, 0.5) ?? 0) / 1e-3 - 1)).toBeLessThan(0.09);
  expect(Math.abs((quantileS(counts, 0.99) ?? 0) / 5e-2 - 1)).toBeLessThan(0.09);
  expect(quantileS([], 0.5)).toBeNull();
});

test("what is told has the shape and not the number", () => {
  expect(scaled([1, 0, 400], 1000)).toEqual([2, 0, 998]);
  expect(scaled([1, 0, 4_000_000], 1000)).toEqual([1, 0, 1000]);
  expect(scaled([], 1000)).toEqual([]);
});
