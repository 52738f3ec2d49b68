import { expect, it } from "vitest";
import { matching } from "./queries";

const TERMS = [
  { name: "cohort", meaning: "The devices that take part in one round." },
  { name: "round", meaning: "One collection of updates." },
];

it("finds terms by their word and by their meaning, in any case", () => {
  expect(matching(TERMS, " ROUND ").map(({ name }) => name)).toEqual(["cohort", "round"]);
  expect(matching(TERMS, "updates").map(({ name }) => name)).toEqual(["round"]);
  expect(matching(TERMS, "").length).toBe(2);
  expect(matching(TERMS, "nothing like it")).toEqual([]);
});
