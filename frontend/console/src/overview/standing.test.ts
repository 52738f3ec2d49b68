import { expect, it } from "vitest";
import { type Part, standings } from "./standing";

const part = (status: string, reason: string, devices: number) => ({ status, reason, devices, words: reason }) as Part;

it("adds up each state, the commonest reason first", () => {
  const found = standings([
    part("waiting", "a", 2),
    part("left", "", 1),
    part("ready", "", 7),
    part("waiting", "b", 9),
  ]);
  expect(found.map(({ status, devices, reasons }) => [status, devices, reasons.map(({ reason }) => reason)])).toEqual([
    ["ready", 7, []],
    ["waiting", 11, ["b", "a"]],
    ["left", 1, []],
  ]);
  expect(standings([])).toEqual([]);
});
