import { expect, it } from "vitest";
import { outcomeOf, roundRows } from "./outcome";

it("is none before a run has ended well", () => {
  expect(outcomeOf("")).toBeUndefined();
});

it("has its rounds as rows, with nothing where nothing was measured", () => {
  const round = { number: 1, opened_s: 0, ended_s: 9.5, invited: 5, lost: 1, delivered: 4, diverged: 0 };
  const found = outcomeOf(JSON.stringify({ rounds: [{ ...round, outcome: "merged", accuracy: null, loss: null }] }));
  expect(found === undefined ? [] : roundRows(found).rows).toEqual([[1, 0, 9.5, 5, 1, 4, 0, "merged", "", ""]]);
});
