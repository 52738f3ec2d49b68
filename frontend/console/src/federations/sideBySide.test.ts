import { expect, it } from "vitest";
import type { Federation, Round } from "./queries";
import { linesOfFederations, linesOfRounds } from "./sideBySide";

const round = (number: number, more: object = {}): Round =>
  ({
    id: number,
    number,
    state: "published",
    devices: 26,
    updates: 20,
    duration_s: 600,
    finished_at: "2026-01-01T00:00:00Z",
    metrics: {},
    ...more,
  }) as Round;
const shown = (lines: ReturnType<typeof linesOfRounds>) =>
  lines.map(({ name, values, format }) => [name, ...values.map((value) => (value === null ? "–" : format(value)))]);

it("puts the figures of rounds beside the baseline's, also where one lacks them", () => {
  const lines = linesOfRounds([
    round(4, { metrics: { accuracy: 0.91, updates: 20, weights: [1, 2] } }),
    round(3, { metrics: { accuracy: 0.9, update_bytes: 4000 }, duration_s: 60 }),
    round(2, { state: "abandoned", updates: 7, duration_s: null }),
  ]);
  expect(shown(lines)).toEqual([
    ["devices that were asked", "26", "26", "26"],
    ["updates that came in", "20", "20", "7"],
    ["took", "10 min", "60 s", "–"],
    ["accuracy on held-out samples", "91.0%", "90.0%", "–"],
    ["uploaded for it", "–", "4.00 kB", "–"],
  ]);
});

it("compares federations by the rounds that ended, newest first, and leaves out what none has", () => {
  const lived = {
    federation: { members: 124 } as Federation,
    rounds: [
      round(9, { state: "open", finished_at: null, duration_s: null }),
      round(8, { metrics: { accuracy: 0.9, update_bytes: 3000 } }),
      round(7, { state: "abandoned", updates: 1 }),
      round(6, { metrics: { mean_accuracy: 0.95, update_bytes: 1000 }, duration_s: 1200 }),
    ],
  };
  const young = { federation: { members: 3 } as Federation, rounds: [] };
  expect(shown(linesOfFederations([lived, young]))).toEqual([
    ["accuracy of the newest version", "90.0%", "–"],
    ["best accuracy", "95.0%", "–"],
    ["devices", "124", "3"],
    ["rounds that are compared", "3", "0"],
    ["of them published", "66.7%", "–"],
    ["a round takes", "15 min", "–"],
    ["updates in a round", "20", "–"],
    ["uploaded in a round", "2.00 kB", "–"],
  ]);
});
