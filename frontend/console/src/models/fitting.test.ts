import { expect, it } from "vitest";
import { datasetFor, type Fitting, fittingOf, leftOutOf, whyNoneFits } from "./fitting";
import type { Dataset, Pair } from "./queries";

const pair = { spec: { inputs: [{ name: "x", dtype: "float32", shape: [64] }] } } as unknown as Pair;
const of = (id: string, ...shape: number[]) =>
  ({ id, inputs: [{ name: "samples", dtype: "float32", shape }] }) as unknown as Dataset;

it("takes the newest data set of the pair's shape", () => {
  expect(datasetFor(pair, [of("wider", 128), of("newer", 64), of("older", 64)])?.id).toBe("newer");
  expect(datasetFor(pair, [of("wider", 128), of("image", 8, 8)])).toBeUndefined();
});

const beside = (name: string, misfit = ""): Fitting => ({ id: name, name, rows: 10, misfit });
const WIDER = "its samples are x float32 [128], the model takes x float32 [64]";

it("offers those alone whose samples the models take, and says that others are left out", () => {
  const datasets = [beside("wider", WIDER), beside("digits"), beside("other", WIDER)];
  expect(fittingOf(datasets).map(({ name }) => name)).toEqual(["digits"]);
  expect(whyNoneFits(datasets)).toBeUndefined();
  expect(leftOutOf(datasets)).toBe("2 others are left out: their samples do not fit the model.");
  expect(leftOutOf([beside("digits")])).toBeUndefined();
});

it("says why none fits", () => {
  expect(whyNoneFits([])).toContain("Upload a data set first");
  expect(whyNoneFits([beside("wider", WIDER)])).toBe(`The only data set, wider, does not fit: ${WIDER}.`);
  expect(whyNoneFits([beside("wider", WIDER), beside("other", "no")])).toBe(
    `None of 2 data sets fits. The newest is wider: ${WIDER}.`,
  );
});
