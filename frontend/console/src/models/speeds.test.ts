import { expect, it } from "vitest";
import { nameOfClass, saidOf } from "./speeds";

it("names classes by their place", () => {
  expect([0, 1, 2].map((place) => nameOfClass(place, 3))).toEqual(["The quickest", "Class 2", "The slowest"]);
  expect(nameOfClass(0, 1)).toBe("All alike");
});

it("says what was timed and in which condition", () => {
  expect(saidOf({ work: "predict", form: "int8", charging: "no" })).toBe("a prediction with int8, on battery");
  expect(saidOf({ work: "predict", form: "float32", charging: "yes" })).toBe("a prediction, charging");
  expect(saidOf({ work: "step", form: "float32", charging: "unknown" })).toBe("a train step, charger not known");
});
