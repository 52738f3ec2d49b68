import { expect, it } from "vitest";
import { inFull, secondsIn } from "./durations";

it.each([
  ["24 h", 86_400],
  ["24h", 86_400],
  ["90", 90],
  ["0", 0],
  ["1 h 30 min", 5400],
  ["1h30m", 5400],
  ["1.5 hours", 5400],
  ["1,5 Std", 5400],
  ["2 weeks", 1_209_600],
  ["7 Tage", 604_800],
  ["250 ms", 0.25],
  [" 10 Sekunden ", 10],
])("reads %j as %j seconds", (text, seconds) => {
  expect(secondsIn(text)).toBe(seconds);
});

it.each(["", "h", "soon", "5 x", "1 h 30", "-5 min", "3 / 4 h", "1e3"])("does not read %j", (text) => {
  expect(secondsIn(text)).toBeNull();
});

it.each([
  [0, "0 s"],
  [0.5, "0.5 s"],
  [60, "1 min"],
  [90, "1 min 30 s"],
  [3600, "1 h"],
  [5400, "1 h 30 min"],
  [86_400, "24 h"],
  [90_061, "25 h 1 min 1 s"],
  [604_800, "7 days"],
])("writes %j seconds as %j, and reads them again", (seconds, text) => {
  expect(inFull(seconds)).toBe(text);
  expect(secondsIn(text)).toBe(seconds);
});
