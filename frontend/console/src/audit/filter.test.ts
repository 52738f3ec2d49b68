import { expect, it } from "vitest";
import { auditAsked, auditSearch } from "./filter";

it("asks for whole days where the person is, the last one included", () => {
  const search = auditSearch({ from: "2026-03-01", to: "2026-03-02", by: "token" });
  const query = auditAsked(search);
  expect(query.actor_kind).toBe("token");
  expect(query.since).toBe(new Date(2026, 2, 1).toISOString());
  expect(query.until).toBe(new Date(2026, 2, 3).toISOString());
});

it("leaves out what is no day", () => {
  expect(auditSearch({ from: "yesterday", to: 7, entry: "x" })).toEqual({});
});

it("keeps the search and the entry that is looked at", () => {
  expect(auditSearch({ q: "ada", action: "accounts.sign_in", entry: 7 })).toEqual({
    q: "ada",
    action: "accounts.sign_in",
    entry: 7,
  });
});
