import { expect, it } from "vitest";
import type { AgentReleases, AgentRollout, AgentVersion } from "./queries";
import { phasesIn, phasesOf, progressOf, takersOf, whyNoRelease } from "./standing";

const rollout = {
  state: "running",
  phases: [0.05, 0.25, 1],
  phase: 1,
  figures: { devices: 200, failures: 3, asked: 2, waiting: 5, installed: 40, refused: 1, failed: 2, left_out: {} },
} as unknown as AgentRollout;

it("counts who was asked by what came of it", () => {
  expect(progressOf(rollout)).toEqual({ devices: 200, asked: 50, installed: 40, open: 7, failed: 3, returned: 0 });
});

it("names the phase that it is in, as long as it goes on", () => {
  expect(phasesOf(rollout)).toBe("5%, then 25% now, then 100%");
  expect(phasesOf({ ...rollout, state: "done", phase: 2 })).toBe("5%, then 25%, then 100%");
});

it("reads phases as people write percentages, and only ascending ones", () => {
  expect(phasesIn("5, 25, 100")).toEqual([0.05, 0.25, 1]);
  expect(phasesIn("12.5% 100%")).toEqual([0.125, 1]);
  for (const typed of ["", "0, 50", "50, 25", "50, 50", "20, 120", "half"]) expect(phasesIn(typed)).toBeUndefined();
});

it("counts the devices that take a release", () => {
  const version = (name: string, taking: number) => ({ version: name, taking }) as AgentVersion;
  const fleet = [version("0.10.0", 1), version("0.9", 20), version("0.2.0", 300), version("built by hand", 4000)];
  expect(takersOf(fleet, "0.10")).toBe(320);
  expect(takersOf(fleet, "0.9.0")).toBe(300);
  expect(takersOf(fleet, "1")).toBe(321);
});

it("says what the repository lacks", () => {
  const full: AgentReleases = {
    served: true,
    releases: [{ version: "0.3.0", size_bytes: 9 }],
    expiries: [{ role: "timestamp", expires_at: "2026-11-27T00:00:00Z", expired: false }],
  };
  expect(whyNoRelease(full)).toBeUndefined();
  expect(whyNoRelease({ ...full, served: false })).toContain("coterie releases init");
  expect(whyNoRelease({ ...full, releases: [] })).toContain("coterie releases add");
  const expired = full.expiries.map((one) => ({ ...one, expired: true }));
  expect(whyNoRelease({ ...full, expiries: expired })).toContain("timestamp");
});
