import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { commandsFor, roundIn } from "./found";
import Palette from "./Palette";

const NONE = { count: 0, results: [], next: null, previous: null };

function holds(): void {
  signedIn();
  for (const list of ["federations", "pairs", "versions", "alliances", "rounds"] as const)
    answers("get", `/api/${list}/`, NONE as never);
  answers("get", "/api/devices/", {
    ...NONE,
    count: 1,
    results: [{ id: "d-1", name: "hall-3", status: "absent" }],
  } as never);
}

it("finds a device and goes to its page, by keyboard alone", async () => {
  holds();
  const close = vi.fn();
  const { router } = await show(<Palette onClose={close} />);
  const field = await screen.findByRole("combobox", { name: "Search" });
  await userEvent.type(field, "hall");
  expect((await screen.findByRole("option", { name: /hall-3/ })).textContent).toContain("Devices, absent");
  await userEvent.keyboard("{ArrowDown}{ArrowUp}{Enter}");
  expect(close).toHaveBeenCalledOnce();
  await waitFor(() => expect(router.state.location.pathname).toBe("/devices/d-1"));
});

it("says that nothing is called so", async () => {
  holds();
  answers("get", "/api/devices/", NONE as never);
  await show(<Palette onClose={vi.fn()} />);
  await userEvent.type(await screen.findByRole("combobox"), "zzz");
  expect(await screen.findByText("Nothing is called that.")).toBeDefined();
});

it("knows pages and actions by any of their words", () => {
  expect(commandsFor("upload pair", undefined).map(({ to }) => to)).toEqual(["/models/new"]);
  expect(commandsFor("nothing like it", undefined)).toEqual([]);
});

it.each([
  ["digits 12", { federation: "digits", number: 12 }],
  ["night shift round 3", { federation: "night shift", number: 3 }],
  ["digits #7", { federation: "digits", number: 7 }],
  ["digits", undefined],
])("reads %s as a round", (typed, round) => expect(roundIn(typed)).toEqual(round));
