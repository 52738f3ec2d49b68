import { expect, it } from "vitest";
import { bytes, duration, joules, percent } from "./units";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [39_812, "39.8 kB"],
  [999_999, "1.00 MB"],
  [5e15, "5,000 TB"],
])("%d bytes are %s", (count, words) => expect(bytes(count)).toBe(words));

it("has energy to three digits", () => {
  expect([0.5, 12.44, 999.4, 999.6, 3200].map(joules)).toEqual(["0.500 J", "12.4 J", "999 J", "1.00 kJ", "3.20 kJ"]);
});

it.each([
  [0.0042, "4.2 ms"],
  [0.722, "720 ms"],
  [3.46, "3.5 s"],
  [110, "110 s"],
  [600, "10 min"],
  [9000, "2.5 h"],
  [86_400, "24 h"],
  [604_800, "7 days"],
])("%d seconds are %s", (seconds, words) => expect(duration(seconds)).toBe(words));

it("writes shares as percentages", () => expect(percent(0.9667)).toBe("96.7%"));
