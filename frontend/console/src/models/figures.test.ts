import { expect, it } from "vitest";
import { inOrder, writtenOf } from "./figures";

it("writes what people know by its name and unit, and anything else as it is called", () => {
  const { words, format } = writtenOf("accuracy");
  expect([words, format(0.913)]).toEqual(["accuracy on held-out samples", "91.3%"]);
  const other = writtenOf("cross_entropy_gap_before");
  expect([other.words, other.format(0.61234)]).toEqual(["cross entropy gap before", "0.6123"]);
});

it("puts first what people look at first, and leaves the rest in its order", () => {
  expect(inOrder(["epochs", "merge_s", "models", "accuracy"])).toEqual(["accuracy", "merge_s", "epochs", "models"]);
});
