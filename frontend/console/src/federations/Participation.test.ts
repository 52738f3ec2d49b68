import { expect, test } from "vitest";
import { sentenceOf } from "./Participation";

test("who has waited longest is told beside the half that was asked last", () => {
  expect(sentenceOf({ longest: 7, median: 1, never: 0 })).toBe(
    "Of the devices that are ready, half were asked a round ago or later, and all 7 rounds ago or later.",
  );
});

test("devices that were never asked are counted apart", () => {
  expect(sentenceOf({ longest: null, median: null, never: 3 })).toBe(
    "No device that is ready has been asked yet. 3 that are ready have not been asked in 200 rounds.",
  );
});
