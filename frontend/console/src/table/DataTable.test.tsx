import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { show } from "../testing/show";
import { type Column, DataTable, type Rows } from "./DataTable";
import type { TableSearch } from "./search";

interface Device {
  readonly id: string;
  readonly tags: string;
}

const COLUMNS: readonly Column<Device>[] = [
  { id: "id", header: "Device", sort: "name", cell: (device) => device.id },
  { id: "tags", header: "Tags", cell: (device) => device.tags },
  { id: "cores", header: "Cores", optional: true, cell: () => "4 cores" },
];
const TWO: Rows<Device> = {
  data: {
    results: [
      { id: "hall", tags: "kiosk" },
      { id: "barn", tags: "pi" },
    ],
    count: 120,
  },
  error: null,
  isFetching: false,
  refetch: () => undefined,
};

/** The table with its part of the address. */
function Devices({
  rows = TWO,
  seen = () => undefined,
  choosable = false,
}: {
  rows?: Rows<Device>;
  seen?: (search: TableSearch) => void;
  choosable?: boolean;
}) {
  const [search, setSearch] = useState<TableSearch>({ page: 2 });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choice = choosable ? { chosen, onChosen: setChosen } : {};
  return (
    <DataTable
      label="Devices"
      columns={COLUMNS}
      rows={rows}
      rowKey={(device) => device.id}
      pageSize={50}
      search={search}
      onSearch={(change) => {
        seen(change);
        setSearch(change);
      }}
      rowName={({ id }) => `the ${id}`}
      searchable="Name"
      empty="Nothing is here."
      {...choice}
    />
  );
}

it("shows rows, and where in all of them it stands", async () => {
  await show(<Devices />);
  const table = screen.getByRole("table", { name: "Devices" });
  expect(within(table).getAllByRole("row")).toHaveLength(3);
  expect(screen.getByText("51–100 of 120")).toBeDefined();
});

it("sorts by a column up, down and not at all, from the first page", async () => {
  const seen = vi.fn();
  await show(<Devices seen={seen} />);
  const header = screen.getByRole("button", { name: "Device" });
  for (let click = 0; click < 3; click += 1) await userEvent.click(header);
  expect(seen.mock.calls.map(([search]) => search)).toEqual([{ sort: "name" }, { sort: "-name" }, {}]);
  expect(screen.getByRole("columnheader", { name: "Device" }).getAttribute("aria-sort")).toBe("none");
});

it("searches once one has typed, and for everything when the field is cleared", async () => {
  const seen = vi.fn();
  await show(<Devices seen={seen} />);
  const field = screen.getByRole("searchbox", { name: "Name" });
  await userEvent.type(field, "hall");
  await waitFor(() => expect(seen).toHaveBeenCalledExactlyOnceWith({ q: "hall" }));
  await userEvent.clear(field);
  await waitFor(() => expect(seen).toHaveBeenLastCalledWith({}));
});

it("hides a column, and shows one that is optional", async () => {
  await show(<Devices />);
  expect(screen.queryByText("4 cores")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Columns" }));
  await userEvent.click(await screen.findByRole("menuitemcheckbox", { name: "Cores" }));
  await userEvent.click(screen.getByRole("menuitemcheckbox", { name: "Tags" }));
  expect(screen.getAllByText("4 cores")).toHaveLength(2);
  expect(screen.queryByText("kiosk")).toBeNull();
});

it("chooses rows, one or all of the page", async () => {
  await show(<Devices choosable />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Choose the hall" }));
  const all = screen.getByRole<HTMLInputElement>("checkbox", { name: "Choose all on this page" });
  expect([all.checked, all.indeterminate]).toEqual([false, true]);
  await userEvent.click(all);
  expect(screen.getByRole<HTMLInputElement>("checkbox", { name: "Choose the barn" }).checked).toBe(true);
});

it("draws no cell anew when a row is chosen, or others are asked for", async () => {
  const cell = vi.spyOn(COLUMNS[1] as Column<Device>, "cell");
  await show(<Devices choosable />);
  const drawn = cell.mock.calls.length;
  await userEvent.click(screen.getByRole("checkbox", { name: "Choose the hall" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "Choose all on this page" }));
  await userEvent.click(screen.getByRole("button", { name: "Device" }));
  expect(cell.mock.calls.length).toBe(drawn);
  expect(drawn).toBeGreaterThan(0);
  cell.mockRestore();
});

it("says that nothing is there, and what went wrong with a way on", async () => {
  await show(<Devices rows={{ ...TWO, data: { results: [], count: 0 } }} />);
  expect(screen.getByText("Nothing is here.")).toBeDefined();
  expect(screen.getByText("none")).toBeDefined();
});

it("shows the platform's own sentence when the rows do not come, and asks again", async () => {
  const refetch = vi.fn();
  const error = new Problem("request.invalid", 400, "sort: 'x' is none of name", {});
  await show(<Devices rows={{ data: undefined, error, isFetching: false, refetch }} />);
  expect(screen.getByText("sort: 'x' is none of name")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(refetch).toHaveBeenCalledOnce();
});

it("leads to all rows where the address asks for what the platform does not know", async () => {
  const error = new Problem("rest.invalid", 400, '"asleep" is not a valid choice.', {});
  await show(<Devices rows={{ data: undefined, error, isFetching: false, refetch: vi.fn() }} />);
  expect(screen.getByText('"asleep" is not a valid choice.')).toBeDefined();
  expect(screen.getByRole("link", { name: "Show all" })).toBeDefined();
});

it("keeps the rows that are there when the next ones do not come", async () => {
  await show(<Devices rows={{ ...TWO, error: new TypeError("Failed to fetch") }} />);
  expect(screen.getByText("hall")).toBeDefined();
});

it("marks cells in which there is nothing, which a phone leaves out", async () => {
  const rows = {
    ...TWO,
    data: {
      results: [
        { id: "hall", tags: "–" },
        { id: "barn", tags: "pi" },
      ],
      count: 2,
    },
  };
  await show(<Devices rows={rows} />);
  const marked = screen.getAllByRole("cell").filter((cell) => cell.querySelector("[data-none]") !== null);
  expect(marked.map((cell) => cell.textContent)).toEqual(["–"]);
});
