import { expect, it } from "vitest";
import { differences } from "./difference";

it("names what differs, and nothing else", () => {
  const before = { local: { kind: "sgd", epochs: 5 }, codec: { kind: "int8" }, hours: [1, 2] };
  expect(differences(before, before)).toEqual([]);
  expect(differences(before, { ...before, local: { kind: "prox", epochs: 5, mu: 0.1 }, hours: [1, 3] })).toEqual([
    { path: "hours", before: [1, 2], after: [1, 3] },
    { path: "local.kind", before: "sgd", after: "prox" },
    { path: "local.mu", before: undefined, after: 0.1 },
  ]);
});
