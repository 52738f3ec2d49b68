import { expect, it } from "vitest";
import { nextSort, tableSearch } from "./search";

it("keeps what fits and leaves out the rest", () => {
  const raw = { q: "pi", sort: "-seen", page: 3, hide: ["tags", 7], page_size: 9 };
  expect(tableSearch(raw)).toEqual({ q: "pi", sort: "-seen", page: 3, hide: ["tags"] });
  expect(tableSearch({ q: "", sort: "DROP TABLE", page: "two", hide: [] })).toEqual({});
});

it("sorts up, then down, then not at all", () => {
  expect(nextSort(undefined, "name")).toBe("name");
  expect(nextSort("name", "name")).toBe("-name");
  expect(nextSort("-name", "name")).toBeUndefined();
  expect(nextSort("-name", "seen")).toBe("seen");
});
