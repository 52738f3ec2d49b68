import { expect, it } from "vitest";
import {
  besideOf,
  courseOf,
  errorsOf,
  latestOf,
  phaseOf,
  progressOf,
  type Rollout,
  type Trial,
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

it("tells how unseen answers compared", () => {
  const beside = { candidate_p50_s: 0.002, candidate_p99_s: 0.004, champion_p50_s: 0.001, champion_p99_s: 0.002 };
  expect(besideOf(rollout({ agreement: 0.984, shadowed: 20, ...beside }))).toEqual({
    agreement: "98.4% on 20 devices",
    candidate: "2 ms, 99 % within 4 ms",
    champion: "1 ms, 99 % within 2 ms",
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

it("says what shares try a version one after another, and for how long", () => {
  expect(courseOf({ share: 0.01, phases: [0.1, 0.5], hold_s: 3600, within_s: 7200 })).toBe(
    "1%, then 10%, then 50%, then everybody. Each share is watched 60 min at least and 2.0 h at most.",
  );
  expect(courseOf({ share: 0.1, phases: [], hold_s: 0, within_s: 3600 })).toBe(
    "10%, then everybody. Each share is judged once all have told, and after 60 min at the latest.",
  );
  expect(courseOf({ share: 0.1, phases: null, hold_s: null, within_s: null })).toBe("10%, then everybody.");
});

it("says which of its phases it is in, where it has several", () => {
  const terms = { share: 0.01, phases: [0.1, 0.5] };
  expect(phaseOf({ phase: 1, phases: 3, terms } as unknown as Rollout)).toBe("2 of 3, with 10% of the devices");
  expect(phaseOf({ phase: 0, phases: 1, terms: { share: 0.1 } } as unknown as Rollout)).toBeUndefined();
});
