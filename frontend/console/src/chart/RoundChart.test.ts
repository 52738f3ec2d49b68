import { expect, it } from "vitest";
import { spokenOf } from "./RoundChart";

it("says in words where each line begins and ends", () => {
  const series = [{ label: "accuracy", values: [null, 0.5, 0.9] }];
  expect(spokenOf([1, 2, 3], series, String)).toBe("accuracy from 0.5 to 0.9, in 3 rounds");
  expect(spokenOf([1], [{ label: "accuracy", values: [null] }], String)).toBe("nothing was measured");
});
