import { expect, it } from "vitest";
import { confusionOf, matrixOf, mistakesOf } from "./confusion";

const LABELS = ["cat", "dog", "cow"];
const FIRST = {
  samples: [10, 20, 0],
  mistakes: [
    { actual: 1, predicted: 0, samples: 5 },
    { actual: 0, predicted: 2, samples: 1 },
  ],
  others: 0,
};

it("is a matrix of shares whose diagonal is what was right", () => {
  expect(matrixOf(FIRST, LABELS)?.map(({ name, shares }) => [name, ...shares])).toEqual([
    ["cat", 0.9, 0, 0.1],
    ["dog", 0.25, 0.75, 0],
    ["cow", 0, 0, 0],
  ]);
});

it("is no matrix of what was not kept whole, or of many classes", () => {
  expect(matrixOf({ ...FIRST, others: 3 }, LABELS)).toBeUndefined();
  expect(matrixOf({ ...FIRST, samples: Array.from({ length: 1000 }, () => 1) }, LABELS)).toBeUndefined();
});

it("lists the mistakes that any version makes most, side by side", () => {
  const second = { samples: [10, 20, 0], mistakes: [{ actual: 0, predicted: 2, samples: 6 }], others: 2 };
  expect(mistakesOf([FIRST, second, undefined], LABELS, 5)).toEqual([
    { actual: "cat", predicted: "cow", shares: [0.1, 0.6, null] },
    { actual: "dog", predicted: "cat", shares: [0.25, null, null] },
  ]);
  expect(mistakesOf([FIRST, second], LABELS, 1)).toHaveLength(1);
});

it("is not there where it was not measured", () => {
  expect(confusionOf({ accuracy: 0.5 })).toBeUndefined();
  expect(confusionOf(null)).toBeUndefined();
});
