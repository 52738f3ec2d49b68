import { expect, test } from "vitest";
import { failure } from "./graph";

test("a number that the model has no row for is told as one of the samples, and any other failure is the graph's", () => {
  const given = { dtype: "int64", data: BigInt64Array.of(3n, 20n), shape: [2] } as const;
  const words = "indices element out of data bounds, idx=20 must be within the inclusive range [-20,19]";
  expect(failure(`Gather.0: ${words}`, [given])).toMatchObject({
    code: "data.does_not_fit",
    message: "a sample holds the whole number 20, the model knows 0 to 19",
  });
  expect(failure(`Gather.0: ${words}`, [])).toMatchObject({ code: "model.broken" });
  expect(failure("out of memory", [given])).toMatchObject({ code: "model.broken" });
});
