import { expect, it } from "vitest";
import { isShown, nextSort, tableSearch, texts, withColumnToggled } from "./search";

it("keeps what fits and leaves out the rest", () => {
  const raw = { q: "pi", sort: "-seen", page: 3, hide: ["tags", 7], page_size: 9 };
  expect(tableSearch(raw)).toEqual({ q: "pi", sort: "-seen", page: 3, hide: ["tags"] });
  type Filter = { tag?: string; reason?: string; version?: string };
  expect(texts<Filter>({ tag: "pi", reason: "", version: 7 }, ["tag", "reason", "version"])).toEqual({ tag: "pi" });
  expect(tableSearch({ q: "", sort: "DROP TABLE", page: "two", hide: [] })).toEqual({});
});

it("sorts up, then down, then not at all", () => {
  expect(nextSort(undefined, "name")).toBe("name");
  expect(nextSort("name", "name")).toBe("-name");
  expect(nextSort("-name", "name")).toBeUndefined();
  expect(nextSort("-name", "seen")).toBe("seen");
});

it("shows columns unless they are hidden, and optional ones when they are chosen", () => {
  const [tags, cores] = [{ id: "tags" }, { id: "cores", optional: true }];
  expect([isShown({}, tags), isShown({}, cores)]).toEqual([true, false]);
  const other = withColumnToggled(withColumnToggled({ q: "pi" }, tags), cores);
  expect(other).toEqual({ q: "pi", hide: ["tags"], show: ["cores"] });
  expect([isShown(other, tags), isShown(other, cores)]).toEqual([false, true]);
  expect(withColumnToggled(withColumnToggled(other, tags), cores)).toEqual({ q: "pi" });
});
