import { expect, it } from "vitest";
import { ago } from "./When";

const now = new Date("2026-01-10T12:00:00Z");

it.each([
  ["2026-01-10T12:00:00Z", "now"],
  ["2026-01-10T11:59:15Z", "45 seconds ago"],
  ["2026-01-10T11:00:00Z", "1 hour ago"],
  ["2026-01-09T11:00:00Z", "yesterday"],
  ["2026-01-10T12:05:00Z", "in 5 minutes"],
  ["2026-01-17T11:59:59Z", "in 7 days"],
  ["2024-01-10T12:00:00Z", "2 years ago"],
])("says how far %s is: %s", (at, words) => {
  expect(ago(new Date(at), now)).toBe(words);
});
