import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { RollBack, UseVersion } from "./MoveDevices";
import type { Graph, Pair, Version } from "./queries";

const version = (id: string, number: number, more: Partial<Version> = {}) =>
  ({ id, role: "device", number, lineage: "", name: "", champion: false, archived_at: null, ...more }) as Version;
const OLD = version("old", 6);
const CURRENT = version("current", 7, { champion: true });
const CLOUD = version("cloud", 2, { role: "cloud" });
const GRAPH = {
  count: 3,
  versions: [CLOUD, OLD, CURRENT],
  edges: [
    { from_version: "cloud", to_version: "current", origin: "distillation" },
    { from_version: "old", to_version: "current", origin: "merge" },
  ],
} as Graph;
const PAIR = { id: "pair", device_champion: "current" } as Pair;

// A dialog takes a busy machine seconds.
vi.setConfig({ testTimeout: 20_000 });
beforeEach(() => signedIn("registry.roll_back"));

function held(devices: number) {
  answers("get", "/api/version-figures/", {
    count: 1,
    next: null,
    previous: null,
    results: [{ version: "current", devices, accuracy: null, accuracy_change: null }],
  });
}

it("names both versions and how many devices it moves, and asks why", async () => {
  held(1200);
  const sent: unknown[] = [];
  answers("post", "/api/pairs/{id}/champion/", async (request) => {
    sent.push(await request.json());
    return OLD;
  });
  await show(<RollBack pair={PAIR} graph={GRAPH} />);
  await userEvent.click(await screen.findByRole("button", { name: "Roll the devices back" }));
  const dialog = await screen.findByRole("dialog");
  await waitFor(() =>
    expect(dialog.textContent).toContain("1,200 devices hold version 7 and get version 6 at their next check-in."),
  );
  await userEvent.type(screen.getByLabelText("Why"), "it drains batteries");
  await userEvent.click(screen.getAllByRole("button", { name: "Roll the devices back" }).at(-1) as HTMLElement);
  await waitFor(() =>
    expect(sent).toEqual([{ role: "device", lineage: "", version: "old", why: "it drains batteries" }]),
  );
});

it("names them where another version is to be used, too", async () => {
  held(1);
  await show(<UseVersion pair="pair" version={OLD} versions={GRAPH.versions} />);
  await userEvent.click(await screen.findByRole("button", { name: "Use this version" }));
  const dialog = await screen.findByRole("dialog");
  await waitFor(() =>
    expect(dialog.textContent).toContain("1 device holds version 7 and gets version 6 at its next check-in."),
  );
});
