import { expect, it } from "vitest";
import type { Transfer } from "../help/queries";
import { transfersMeanwhile } from "./meanwhile";
import type { Version } from "./queries";

const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`;

function version(id: string, hour: number, role: Version["role"] = "device"): Version {
  return { id, role, created_at: at(hour) } as Version;
}

function transfer(hour: number, state: Transfer["state"] = "kept"): Transfer {
  return { state, matched_at: at(hour - 1), ended_at: state === "merged" ? null : at(hour) } as Transfer;
}

const VERSIONS = [version("first", 4), version("cloud", 6, "cloud"), version("second", 10)];

it("counts what devices kept while a version was the newest", () => {
  const results = [transfer(12), transfer(11), transfer(8), transfer(8, "undone"), transfer(7, "merged"), transfer(3)];
  expect([...transfersMeanwhile(VERSIONS, { results, next: null })]).toEqual([
    ["second", 2],
    ["first", 1],
  ]);
});

it("says nothing of versions of which it knows only the latest transfers", () => {
  const results = [transfer(12), transfer(8)];
  expect([...transfersMeanwhile(VERSIONS, { results, next: "/api/transfers/?page=2" })]).toEqual([["second", 1]]);
});
