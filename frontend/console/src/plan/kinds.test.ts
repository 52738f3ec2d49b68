import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { kindWords, NAMED_KINDS } from "./kinds";

const REFERENCE = readFileSync(join(import.meta.dirname, "../../../../docs/reference/kinds.md"), "utf8");

it("names no kind that the platform does not have", () => {
  const known = new Set([...REFERENCE.matchAll(/^#{3,4} (?:\w+: )?(\w+)$/gm)].map(([, kind]) => kind));
  expect(NAMED_KINDS.filter((kind) => !known.has(kind))).toEqual([]);
});

it("calls a kind by its words, and one of somebody's own by its code", () => {
  expect(kindWords("fed_avg")).toBe("FedAvg");
  expect(kindWords("acme_mean")).toBe("acme mean");
});
