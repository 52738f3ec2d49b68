import { expect, it } from "vitest";
import { datasetFor } from "./fitting";
import type { Dataset, Pair } from "./queries";

const pair = { spec: { inputs: [{ name: "x", dtype: "float32", shape: [64] }] } } as unknown as Pair;
const of = (id: string, ...shape: number[]) =>
  ({ id, inputs: [{ name: "samples", dtype: "float32", shape }] }) as unknown as Dataset;

it("takes the newest data set of the pair's shape", () => {
  expect(datasetFor(pair, [of("wider", 128), of("newer", 64), of("older", 64)])?.id).toBe("newer");
  expect(datasetFor(pair, [of("wider", 128), of("image", 8, 8)])).toBeUndefined();
});
