import { expect, it } from "vitest";
import {
  absentOf,
  besideOf,
  courseOf,
  errorsOf,
  latestOf,
  phaseOf,
  progressOf,
  type Rollout,
  stepsOf,
  type Trial,
  toleranceOf,
  verdictOf,
} from "./rollouts";

const rollout = (figures: object) => ({ figures }) as Rollout;
const trial = (facts: object) => ({ reported_at: "2026-01-01T00:00:00Z", fault_code: "", ...facts }) as Trial;

it("tells both errors, or both losses, or nothing before the first report", () => {
  expect(errorsOf(rollout({ candidate_error: 0.125, champion_error: 0.1 }))).toEqual({
    candidate: "12.5%",
    champion: "10%",
    what: "error",
  });
  expect(errorsOf(rollout({ candidate_loss: 0.5, champion_loss: 0.25 }))?.what).toBe("loss");
  expect(errorsOf(rollout({ devices: 3 }))).toBeUndefined();
});

it("says how many of the phase's devices are absent, where any is", () => {
  expect(absentOf(rollout({ phase_devices: 4, phase_absent: 3 }))).toBe("3 of 4");
  expect(absentOf(rollout({ phase_devices: 4, phase_absent: 0 }))).toBeUndefined();
  expect(absentOf(rollout({ devices: 4 }))).toBeUndefined();
});

it("tells how unseen answers compared", () => {
  const beside = { candidate_p50_s: 0.002, candidate_p99_s: 0.004, champion_p50_s: 0.001, champion_p99_s: 0.002 };
  expect(besideOf(rollout({ agreement: 0.984, shadowed: 20, ...beside }))).toEqual({
    agreement: "98.4% on 20 devices",
    candidate: "2 ms, 99% within 4 ms",
    champion: "1 ms, 99% within 2 ms",
  });
  expect(besideOf(rollout({ devices: 3 }))).toBeUndefined();
});

it("counts who has told", () => {
  expect(progressOf(rollout({ devices: 3, reports: 1 }))).toEqual({ devices: 3, reports: 1 });
  expect(progressOf(rollout({}))).toEqual({ devices: 0, reports: 0 });
});

it.each([
  [trial({ reported_at: null }), "has not told yet"],
  [trial({ fault_code: "model.broken", fault_sentence: "it does not load" }), "it does not load"],
  [trial({ candidate_accuracy: 0.9, champion_accuracy: 0.875 }), "wrong on 10%, the champion on 12.5%"],
  [trial({ candidate_loss: 0.5, champion_loss: 0.25 }), "loss 0.5, the champion's 0.25"],
])("says of a device how it found the candidate", (given, sentence) => expect(verdictOf(given)).toBe(sentence));

it("puts those that told last first", () => {
  const reported = (reported_at: string | null) => trial({ reported_at });
  const [first, second, none] = [reported("2026-01-01T00:00:00Z"), reported("2026-01-02T00:00:00Z"), reported(null)];
  expect(latestOf([first, none, second])).toEqual([second, first, none]);
});

const TERMS = { share: 0.01, threshold: 0.02, within_s: 7200, hold_s: 3600, absent_s: 86_400 };

it("says what shares try a version one after another, each for how long, and by how much it may be worse", () => {
  const own = { share: 0.5, hold_s: 86_400, within_s: 172_800, threshold: 0.005 };
  const terms = { ...TERMS, phases: [{ share: 0.1, hold_s: null }, own] };
  expect(courseOf(stepsOf(terms) ?? [])).toBe(
    "1% for 60 min to 2 h, then 10% for 60 min to 2 h, then 50% for 24 h to 48 h, then everybody. It may be worse by 2%, then 2%, then 0.5%. Where too few devices are there, it waits for 24 h at most.",
  );
  expect(courseOf(stepsOf({ ...TERMS, hold_s: 0, absent_s: 0 }) ?? [])).toBe(
    "1% for 2 h at most, then everybody. It may be worse by 2%. It does not wait for absent devices.",
  );
  expect(courseOf(stepsOf({ ...TERMS, hold_s: 7200 }) ?? [])).toContain("1% for 2 h, then everybody.");
});

it.each([
  { ...TERMS, share: null },
  { ...TERMS, within_s: null },
  { ...TERMS, phases: [{ share: null }] },
  { ...TERMS, phases: [{ share: 0.01 }] },
  { ...TERMS, phases: [{ share: 0.5 }, { share: 0.1 }] },
])("knows no course where a number is missing or a share no larger: %j", (terms) =>
  expect(stepsOf(terms)).toBeUndefined(),
);

it("says which of its phases it is in, where it has several, and what holds in that one", () => {
  const terms = { ...TERMS, phases: [{ share: 0.1, threshold: 0.005 }, { share: 0.5 }] };
  const measuring = (phase: number) => ({ phase, phases: 3, terms }) as unknown as Rollout;
  expect(phaseOf(measuring(1))).toBe("2 of 3, with 10% of the devices");
  expect([0, 1, 2].map((phase) => toleranceOf(measuring(phase)))).toEqual(["2%", "0.5%", "2%"]);
  expect(phaseOf({ phase: 0, phases: 1, terms: TERMS } as unknown as Rollout)).toBeUndefined();
});
