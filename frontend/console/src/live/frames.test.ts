import { expect, it } from "vitest";
import { type Frame, knownAfter, NOTHING, outdatedBy } from "./frames";

const snapshot: Frame = { frame: "snapshot", epoch: "e", number: 4, documents: [] };

it("remembers the epoch of the snapshot and the number of the latest event", () => {
  const known = knownAfter(NOTHING, snapshot);
  expect(known).toEqual({ epoch: "e", number: 4 });
  const changed: Frame = { frame: "changed", number: 5, document: { kind: "round", id: "1" } };
  expect(knownAfter(known, changed)).toEqual({ epoch: "e", number: 5 });
  expect(knownAfter(known, { frame: "tick", number: 5, at: "" })).toEqual({ epoch: "e", number: 5 });
});

it("asks again only for what a frame makes old", () => {
  expect(outdatedBy({ frame: "changed", number: 1, document: { kind: "job", id: "7" } })).toEqual([
    ["jobs"],
    ["cluster"],
    ["plan-forecasts"],
    ["overview"],
  ]);
  expect(outdatedBy({ frame: "gone", number: 1, kind: "part", id: "7" })).toContainEqual(["rounds"]);
  expect(outdatedBy({ frame: "changed", number: 1, document: { kind: "help", id: "7" } })).toEqual([["help"]]);
  expect(outdatedBy({ frame: "tick", number: 1, at: "" })).toEqual([]);
  expect(outdatedBy(snapshot)).toContainEqual(["devices"]);
});
