import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { show } from "../testing/show";
import { type LogLine, LogLines, textOf } from "./LogLines";

const save = vi.hoisted(() => vi.fn());
vi.mock("./save", () => ({ save }));
afterEach(() => save.mockReset());

const LINES: readonly LogLine[] = [
  { id: 1, at: "2026-01-01T12:00:00Z", level: "info", source: "contact", text: "in contact over the socket" },
  { id: 2, at: "2026-01-01T12:00:01Z", level: "warning", source: "contact", text: "No contact with the platform" },
  { id: 3, at: "2026-01-01T12:00:02Z", level: "error", source: "worker", text: "disk full" },
];

const texts = () => within(screen.getByRole("list", { name: "Log" })).getAllByRole("listitem").length;

it("finds lines by words in any case, and by how serious they are", async () => {
  const user = userEvent.setup();
  await show(<LogLines title="Log of kitchen" lines={LINES} none="nothing" />);
  expect(screen.getByText("3 lines")).toBeDefined();
  await user.type(screen.getByRole("textbox", { name: "Words to look for" }), "PLATFORM contact");
  expect(screen.getByText("1 of 3 lines")).toBeDefined();
  expect(texts()).toBe(1);
  await user.clear(screen.getByRole("textbox", { name: "Words to look for" }));
  await user.click(screen.getByRole("combobox", { name: "How serious" }));
  await user.click(await screen.findByRole("option", { name: "warnings and errors" }));
  expect(texts()).toBe(2);
});

it("saves what it shows, and nothing where nothing fits", async () => {
  const user = userEvent.setup();
  await show(<LogLines title="Log of kitchen" lines={LINES} none="nothing" />);
  await user.type(screen.getByRole("textbox", { name: "Words to look for" }), "worker");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const [name, content] = save.mock.calls[0] as [string, Blob];
  expect([name, content.size]).toEqual(["Log of kitchen.log", textOf(LINES.slice(2)).length]);
  await user.type(screen.getByRole("textbox", { name: "Words to look for" }), " of another kind");
  expect(screen.getByRole("button", { name: "Save" })).toHaveProperty("disabled", true);
});

it("writes a line of a file as it stands, with its moment", () => {
  expect(textOf(LINES.slice(0, 1))).toBe("2026-01-01T12:00:00Z info contact: in contact over the socket\n");
  expect(textOf([{ id: 1, at: "2026-01-01T12:00:00Z", text: "it begins" }])).toBe("2026-01-01T12:00:00Z it begins\n");
});

it("says so where there is nothing", async () => {
  await show(<LogLines title="Log of kitchen" lines={[]} none="It has told nothing yet." />);
  expect(screen.getByText("It has told nothing yet.")).toBeDefined();
});
