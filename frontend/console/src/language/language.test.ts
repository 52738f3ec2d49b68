import { afterEach, expect, it } from "vitest";
import { chooseLanguage, chosenLanguage } from "./language";

afterEach(() => chooseLanguage(null));

it("keeps what was chosen until nothing is", () => {
  expect(chosenLanguage()).toBeNull();
  chooseLanguage("de");
  expect(chosenLanguage()).toBe("de");
  chooseLanguage(null);
  expect(chosenLanguage()).toBeNull();
});
