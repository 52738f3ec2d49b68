import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { show } from "../testing/show";
import { PresetChoice } from "./PresetChoice";

const PRESETS = { fedavg: { merge: "fed_avg" }, scaffold: { merge: "scaffold" } };
const NOTES = {
  fedavg: ["FedAvg (McMahan et al. 2017)", "Loses where data are unlike"],
  scaffold: ["SCAFFOLD (Karimireddy et al. 2020)", "Loses where devices seldom return"],
};

it("says of the chosen system what it is for and when it loses, and gives its plan", async () => {
  const choose = vi.fn();
  await show(<PresetChoice presets={PRESETS} notes={NOTES} first="fedavg" onChoose={choose} />);
  expect(screen.getByText("Loses where data are unlike")).toBeDefined();
  await userEvent.click(screen.getByRole("combobox", { name: "Begin with a published system" }));
  await userEvent.click(await screen.findByRole("option", { name: /SCAFFOLD/ }));
  expect(choose).toHaveBeenCalledExactlyOnceWith({ merge: "scaffold" });
  expect(screen.getByText("Loses where devices seldom return")).toBeDefined();
});

it("lets arrows lead to each of many systems, and Enter take the one that they came to", async () => {
  const names = Array.from({ length: 38 }, (_, place) => `system-${place}`);
  const presets = Object.fromEntries(names.map((name) => [name, { merge: name }]));
  const choose = vi.fn();
  await show(<PresetChoice presets={presets} notes={{}} first={names.at(-1) ?? ""} onChoose={choose} />);
  const field = screen.getByRole("combobox", { name: "Begin with a published system" });
  const press = (code: string) => fireEvent.keyDown(field, { key: code, code });
  const at = () => document.querySelector("[role=option][data-combobox-selected]")?.textContent;
  press("ArrowDown");
  await vi.waitFor(() => expect(document.querySelectorAll("[role=option]")).toHaveLength(names.length));
  const visited = names.map(() => {
    press("ArrowDown");
    return at();
  });
  expect(visited.toSorted()).toEqual(names.toSorted());
  press("ArrowDown");
  const taken = at();
  press("Enter");
  expect(choose).toHaveBeenCalledExactlyOnceWith({ merge: taken });
});
