import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { ComparedUpdates } from "./ComparedUpdates";
import { comparedOf, fateOf } from "./compared";
import type { RoundDetail } from "./queries";

const part = (name: string, facts: object | null) => ({
  device: name,
  device_name: name,
  delivered:
    facts === null
      ? null
      : { kept: null, fault_code: "", fault_sentence: "", merge_weight: null, merge_distance: null, ...facts },
});
const round = (...parts: readonly object[]) => ({ number: 3, assignments: parts }) as unknown as RoundDetail;
const ROUND = round(
  part("near", { kept: true, merge_weight: 1.25, merge_distance: 0.5 }),
  part("late", null),
  part("far", { kept: false, merge_weight: 0, merge_distance: 2 }),
  part("liar", {
    kept: false,
    merge_weight: 0,
    merge_distance: 9,
    fault_code: "update.outvoted",
    fault_sentence: "it lies 9 from the others",
  }),
);

it("lists those that were left out first, the farthest on top", () => {
  expect(comparedOf(ROUND.assignments).map(({ name }) => name)).toEqual(["liar", "far", "near"]);
  expect(comparedOf(ROUND.assignments).map(({ update }) => fateOf(update))).toEqual([
    "left out: it lies 9 from the others",
    "left out: others lie nearer to one another",
    "counts",
  ]);
});

it("says how much each counts, and how far it lies", async () => {
  await show(<ComparedUpdates of={ROUND} />);
  expect(screen.getByText("125.0%")).toBeDefined();
  expect(screen.getByText(/2 of them left out/)).toBeDefined();
});

it("is not there where a merge compares nothing and finds no fault", async () => {
  await show(<ComparedUpdates of={round(part("one", {}))} />);
  expect(screen.queryByText("What the merge made of each update")).toBeNull();
});

it("names what any merge left out as faulty", () => {
  const damaged = round(part("one", { fault_code: "update.damaged", fault_sentence: "its content has another hash" }));
  expect(comparedOf(damaged.assignments).map(({ update }) => fateOf(update))).toEqual([
    "left out: its content has another hash",
  ]);
});
