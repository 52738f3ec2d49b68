import { expect, it } from "vitest";
import type { Rule } from "./queries";
import { inWords, RULE_KINDS, toPlatform } from "./words";

const RULE: Rule = {
  id: 1,
  name: "x",
  kind: "repair",
  code: "",
  least: "warning",
  severity: "warning",
  federation: null,
  federation_slug: "",
  federation_name: "",
  threshold: null,
  channels: [1],
  firing: 0,
  looked_at: null,
  is_active: true,
  created_at: "2026-01-01T12:00:00Z",
};

it("says every kind of rule in a sentence of its own", () => {
  const said = RULE_KINDS.map(({ value }) => inWords({ ...RULE, kind: value, threshold: 0.9 }));
  expect(new Set(said).size).toBe(RULE_KINDS.length);
  expect(inWords({ ...RULE, least: "error", code: "job_failed" })).toBe("an error among the repairs: a job failed");
  expect(inWords({ ...RULE, kind: "accuracy_below", threshold: 0.905, federation_name: "Kiosks" })).toBe(
    "the champion of Kiosks is less than 90.5% accurate",
  );
});

it("gives shares to the platform as parts of one", () => {
  expect(toPlatform("accuracy_below", 90.7)).toBe(0.907);
  expect(toPlatform("unpublished_for", 24)).toBe(24);
});
