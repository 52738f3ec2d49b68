import { expect, test } from "vitest";
import { sentences } from "./forms";

test("each form is told with its speed, which answers, and why one does not run", () => {
  const forms = { float32: [...Array(40).fill(0), 100], int8: [...Array(32).fill(0), 100] };
  const known = { version: "v1", digest: "d", forms, refused: { pruned: "no" }, chosen: "int8", graph: null };
  expect(sentences(known)).toEqual([
    "The whole model takes 1.1 ms, and 99 times of 100 at most 1.1 ms.",
    "Its smaller form int8 takes 279 µs, and 99 times of 100 at most 279 µs; it answers.",
    "Its smaller form pruned does not run here: no.",
  ]);
});
