import { expect, it } from "vitest";
import { latest, publishedByDay, readyDevices, sentByDay } from "./figures";
import type { Overview } from "./queries";

function overview(given: Partial<Record<keyof Overview, unknown>>): Overview {
  return { at: "2026-03-15T12:00:00Z", by_status: [], rounds: [], published: [], traffic: [], ...given } as Overview;
}

function round(federation: string, at: string, accuracy: number | null, mean_accuracy: number | null = null) {
  return { federation, at, accuracy, mean_accuracy };
}

it("counts the devices that are ready", () => {
  const by_status = [
    { status: "ready", devices: 7 },
    { status: "waiting", devices: 3 },
  ];
  expect(readyDevices(overview({ by_status }))).toBe(7);
  expect(readyDevices(overview({}))).toBe(0);
});

it("follows the federation that has published last", () => {
  const rounds = [
    round("a", "2026-03-13T12:00:00Z", 0.7),
    round("b", "2026-03-14T12:00:00Z", 0.1),
    round("a", "2026-03-15T10:00:00Z", null, 0.8),
    round("b", "2026-03-15T11:00:00Z", null),
  ];
  const found = latest(overview({ rounds }));
  expect([found.at(-1)?.federation, found.map(({ accuracy }) => accuracy)]).toEqual(["a", [0.7, 0.8]]);
  expect(latest(overview({})).at(-1)).toBeUndefined();
});

it("counts published rounds by day, days without any as none, and leaves older ones out", () => {
  const published = [
    { day: "2026-02-01", rounds: 9 },
    { day: "2026-03-12", rounds: 1 },
    { day: "2026-03-14", rounds: 2 },
  ];
  const counts = publishedByDay(overview({ published }));
  expect([counts.length, counts.slice(-4)]).toEqual([14, [1, 0, 2, 0]]);
});

it("sums what left the devices in a day", () => {
  const traffic = [{ day: "2026-03-14", update_bytes: 5, portion_bytes: 2, profile_bytes: 1 }];
  expect(sentByDay(overview({ traffic })).slice(-3)).toEqual([0, 8, 0]);
});
