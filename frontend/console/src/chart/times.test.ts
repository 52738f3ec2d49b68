import { expect, it } from "vitest";
import { tickLabels } from "./times";

const at = (text: string) => Date.parse(text) / 1000;

it("names the day once where the ticks are hours apart, and again where it changes", () => {
  const ticks = ["2026-03-01T18:00", "2026-03-01T21:00", "2026-03-02T00:00", "2026-03-02T03:00"].map(at);
  const days = tickLabels(ticks, 10_800).map((label) => label.split("\n")[1]);
  expect(days.map((day) => day !== undefined)).toEqual([true, false, true, false]);
});

it("names days where they are days apart, with the year where there are two", () => {
  expect(tickLabels([at("2026-03-01T00:00"), at("2026-03-02T00:00")], 86_400)[0]).not.toContain("2026");
  expect(tickLabels([at("2025-12-31T00:00"), at("2026-01-01T00:00")], 86_400)[0]).toContain("2025");
});

it("shows seconds where the ticks are closer than a minute", () => {
  const labels = tickLabels([at("2026-03-01T18:00:00"), at("2026-03-01T18:00:15")], 15);
  expect(labels[1]).toContain("15");
});
