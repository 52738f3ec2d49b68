import { expect, test } from "vitest";
import { jobsAsked, jobsSearch } from "./queries";

test("an address that chooses jobs asks for these, also for what the platform then refuses", () => {
  expect(jobsSearch({ kind: "bootstrap", state: "lost", page: 2, q: "digits" })).toEqual({
    kind: "bootstrap",
    state: "lost",
    page: 2,
    q: "digits",
  });
  expect(jobsAsked({ state: "failed", q: "digits" })).toEqual({ state: "failed", search: "digits", page_size: 50 });
});
