import { expect, it } from "vitest";
import { comparedOf } from "./compared";
import type { Comparison } from "./queries";

function comparison(second: string, accuracy: number | null, more: object = {}): Comparison {
  const figure = { name: "accuracy", first: 0.9, second: accuracy, difference: null };
  return { first: { id: "base" }, second: { id: second }, figures: [figure], classes: [], ...more } as never;
}

it("puts several versions beside one baseline, also where one lacks a figure", () => {
  const size = { name: "size_bytes", first: null, second: 20, difference: null };
  const compared = comparedOf([
    comparison("a", 0.93),
    comparison("b", null, { figures: [size], classes: [{ name: "six", first: 0.5, second: 0.75, difference: 0.25 }] }),
  ]);
  expect(compared.versions.map(({ id }) => id)).toEqual(["base", "a", "b"]);
  expect(compared.figures.map(({ name, values }) => [name, values])).toEqual([
    ["accuracy on held-out samples", [0.9, 0.93, null]],
    ["size", [null, null, 20]],
  ]);
  expect(compared.classes.map(({ name, values }) => [name, values])).toEqual([["six", [0.5, null, 0.75]]]);
});
