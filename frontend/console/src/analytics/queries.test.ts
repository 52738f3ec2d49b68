import { expect, it } from "vitest";
import { type Asking, contentOf, errorOf, type Question, subjectOf } from "./queries";

const ASKING: Asking = { of: "classes", among: "all", classes: 3, most: 50, entries: [], minDevices: 10 };

it("asks for classes, bins or words", () => {
  const terms = { among: "all", min_devices: 10 };
  expect(contentOf(ASKING)).toEqual({ count: { kind: "classes", classes: 3, most: 50 }, ...terms });
  expect(contentOf({ ...ASKING, of: "samples", entries: ["0", "10", "20.5"] })).toEqual({
    count: { kind: "histogram", of: "samples", edges: [0, 10, 20.5] },
    ...terms,
  });
  expect(contentOf({ ...ASKING, of: "machine", entries: ["aarch64 Linux"], among: "failing" })).toEqual({
    count: { kind: "words", of: "machine", words: ["aarch64 Linux"] },
    among: "failing",
    min_devices: 10,
  });
});

it("asks nothing that has no bins, or bins that do not ascend", () => {
  for (const entries of [[], ["a"], ["2", "1"], ["1", "1"]]) {
    expect(contentOf({ ...ASKING, of: "samples", entries })).toBeUndefined();
  }
  expect(contentOf({ ...ASKING, of: "agent" })).toBeUndefined();
});

it("tells what was asked, and how right the answer is", () => {
  const question = {
    content: { count: { kind: "histogram", of: "train_step_s" } },
    deviation: 4.2,
  } as unknown as Question;
  expect(subjectOf(question)).toBe("How long does a train step take?");
  expect(errorOf(question)).toBe("each count is right to ±8.4 in 95 of 100 cases");
  expect(errorOf({ ...question, deviation: 0 })).toBe("exact: no noise was asked for");
  expect(errorOf({ ...question, deviation: null })).toBe("");
});
