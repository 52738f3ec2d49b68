import { expect, test } from "vitest";
import { whatLeaves } from "./own_model";

test("the page says of the model of one's own what leaves of it, and that it stays where nothing does", () => {
  expect(whatLeaves(false, false)).toBe("That model never leaves it.");
  expect(whatLeaves(true, false)).toBe("Parts of that model go to devices that ask for help.");
  expect(whatLeaves(false, true)).toContain("What it learns is sent with each round");
  expect(whatLeaves(true, true)).not.toContain("never leaves it");
});
