import { expect, it } from "vitest";
import { faults, LANGUAGES } from "./catalogues.ts";

it.each(LANGUAGES)("says all that the console says in %s, with the same parts, and nothing else", (language) => {
  expect(faults(language)).toEqual([]);
});
