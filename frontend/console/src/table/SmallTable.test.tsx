import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { type SmallColumn, SmallTable } from "./SmallTable";

interface Share {
  readonly name: string;
  readonly share: number;
}

const COLUMNS: readonly SmallColumn<Share>[] = [
  { header: "Device", cell: ({ name }) => name },
  { header: "Share", align: "end", cell: ({ share }) => `${100 * share} %`, tint: ({ share }) => share },
];

it("names each row by its first cell, and tints the large values", async () => {
  const rows = [
    { name: "hall", share: 0.75 },
    { name: "barn", share: 0.25 },
  ];
  await show(<SmallTable label="Shares" columns={COLUMNS} rows={rows} rowKey={({ name }) => name} minWidth={200} />);
  const table = screen.getByRole("table", { name: "Shares" });
  expect(
    within(table)
      .getAllByRole("columnheader")
      .map((head) => head.textContent),
  ).toEqual(["Device", "Share"]);
  expect(
    within(table)
      .getAllByRole("rowheader")
      .map((head) => head.textContent),
  ).toEqual(["hall", "barn"]);
  const tints = within(table)
    .getAllByRole("cell")
    .map((cell) => cell.style.getPropertyValue("--tint"));
  expect(tints).toEqual(["0.75", "0.25"]);
});
