import { expect, it } from "vitest";
import { queryOf, searchOf } from "./saved";

it("keeps what is in the address but the page, and gives it back", () => {
  const search = { q: "pi", status: "waiting", sort: "-name", hide: ["tags", "seen"], show: ["cores"], ready: false };
  const query = queryOf({ ...search, page: 3, tag: undefined });
  expect(query).toEqual({
    q: "pi",
    status: "waiting",
    sort: "-name",
    hide: "tags,seen",
    show: "cores",
    ready: "false",
  });
  expect(searchOf(query)).toEqual(search);
});
