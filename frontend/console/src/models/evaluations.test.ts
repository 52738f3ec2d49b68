import { expect, it } from "vitest";
import {
  accuraciesByVersion,
  decilesOf,
  type Evaluation,
  type EvaluationPart,
  foundBy,
  latestOf,
  rowsOf,
  spreadOf,
} from "./evaluations";

const spread = (mean: number) => ({
  mean,
  deciles: [1, 2, 3, 4, 5, 6, 7, 8, 9].map((tenth) => tenth / 10),
  worst: 0.05,
});
const ofClasses = { devices: 3, samples: 60, loss: 1.5, losses: spread(1.4), accuracy: 0.8, accuracies: spread(0.7) };
const ofValues = { ...ofClasses, accuracy: null, accuracies: null };
const part = (facts: object) => ({ reported_at: "2026-01-01T00:00:00Z", fault_code: "", ...facts }) as EvaluationPart;

it("tells accuracies where there are any, else losses", () => {
  expect(spreadOf(ofClasses)).toMatchObject({ what: "accuracy", overall: "80%" });
  expect(spreadOf(ofValues)).toMatchObject({ what: "loss", overall: "1.5" });
});

it("has a row for all devices and one for each tag", () => {
  const figures = { devices: 4, reports: 3, faults: 0, summary: ofClasses, by_tag: { kiosk: ofValues } };
  expect(rowsOf({ figures } as unknown as Evaluation)).toEqual([
    { name: "all devices", devices: 3, samples: 60, mean: "70%", median: "50%", worst: "5%" },
    { name: "kiosk", devices: 3, samples: 60, mean: "1.4", median: "0.5", worst: "0.05" },
  ]);
  expect(rowsOf({ figures: null } as Evaluation)).toEqual([]);
});

it("takes the youngest of each version", () => {
  const one = (version: string, accuracy: number | null) =>
    ({ version, figures: { summary: { accuracy } } }) as unknown as Evaluation;
  const found = accuraciesByVersion([one("a", 0.9), one("b", null), one("a", 0.5)]);
  expect([...found]).toEqual([["a", 0.9]]);
});

it("names the deciles", () => {
  expect(decilesOf(ofClasses)[0]).toEqual({ label: "10%", value: 0.1 });
  expect(decilesOf(ofClasses).at(-1)).toEqual({ label: "90%", value: 0.9 });
});

it.each([
  [part({ reported_at: null }), "has not told yet"],
  [part({ fault_code: "data.no_samples", fault_sentence: "no samples" }), "no samples"],
  [part({ accuracy: 0.9, loss: 1, samples: 40 }), "right on 90% of 40 samples"],
  [part({ accuracy: null, loss: 1.25, samples: 40 }), "loss 1.25 on 40 samples"],
])("says of a device what it found", (given, sentence) => expect(foundBy(given)).toBe(sentence));

it("puts those that told last first", () => {
  const told = (reported_at: string | null) => part({ reported_at });
  const [first, second, none] = [told("2026-01-01T00:00:00Z"), told("2026-01-02T00:00:00Z"), told(null)];
  expect(latestOf([first, none, second])).toEqual([second, first, none]);
});
