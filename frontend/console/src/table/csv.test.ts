import { expect, it } from "vitest";
import { csvOf } from "./csv";

it("quotes what needs it", () => {
  expect(
    csvOf(
      ["name", "n"],
      [
        ["a,b", 1],
        ['say "x"', -2],
      ],
    ),
  ).toBe('name,n\r\n"a,b",1\r\n"say ""x""",-2\r\n');
});

it.each(["=1+1", "+1", "-1", "@x"])("does not let a spreadsheet run %s", (value) => {
  expect(csvOf(["v"], [[value]])).toBe(`v\r\n'${value}\r\n`);
});
