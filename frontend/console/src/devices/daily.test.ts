import { expect, it } from "vitest";
import { daily, totals } from "./daily";
import type { Departure } from "./queries";

const departures = [
  { kind: "update", at: "2026-01-02T10:00:00Z", size_bytes: 100, count: 1 },
  { kind: "update", at: "2026-01-01T10:00:00Z", size_bytes: 10, count: 1 },
  { kind: "update", at: "2026-01-01T09:00:00Z", size_bytes: 20, count: 1 },
  { kind: "profile", at: "2026-01-01T23:00:00Z", size_bytes: 7, count: 3 },
] as unknown as Departure[];

it("adds up what left by day and kind, oldest day first", () => {
  const { times, series } = daily(departures);
  expect(times).toEqual([Date.parse("2026-01-01") / 1000, Date.parse("2026-01-02") / 1000]);
  expect(series.map(({ values }) => values)).toEqual([
    [30, 100],
    [0, 0],
    [7, 0],
  ]);
  expect(totals(departures, "profile")).toEqual({ bytes: 7, count: 3 });
  expect(totals(departures, "portion")).toEqual({ bytes: 0, count: 0 });
});
