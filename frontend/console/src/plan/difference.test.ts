import { expect, it } from "vitest";
import { differences, pathWords, valueWords } from "./difference";

it("names what differs, and nothing else", () => {
  const before = { local: { kind: "sgd", epochs: 5 }, codec: { kind: "int8" }, hours: [1, 2] };
  expect(differences(before, before)).toEqual([]);
  expect(differences(before, { ...before, local: { kind: "prox", epochs: 5, mu: 0.1 }, hours: [1, 3] })).toEqual([
    { path: "hours", before: [1, 2], after: [1, 3] },
    { path: "local.kind", before: "sgd", after: "prox" },
    { path: "local.mu", before: undefined, after: 0.1 },
  ]);
});

it("says in words what differs", () => {
  expect(pathWords("local.kind")).toBe("training on devices");
  expect(pathWords("help.detector.least_share")).toBe("help: detector: least share");
  expect(valueWords("local.kind", "prox")).toBe("FedProx");
  expect(valueWords("pace.deadline_s", 660)).toBe("11 min");
  expect([undefined, null, true, [1, 3]].map((value) => valueWords("local.x", value))).toEqual([
    "–",
    "none",
    "yes",
    "[1,3]",
  ]);
});
