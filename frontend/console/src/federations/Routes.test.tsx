import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { Routes } from "./Routes";

const way = (name: string, supernode: string | null, reason: string) => ({
  device: name,
  device_name: name,
  supernode,
  supernode_name: supernode,
  epoch: 1,
  reason_code: "route.reason",
  reason_sentence: reason,
  held_at: supernode === null ? null : "2026-01-01T12:00:00Z",
});
const SUM = {
  id: "sum",
  supernode: "gateway",
  supernode_name: "gateway",
  parent: "region" as string | null,
  parent_name: "region" as string | null,
  tier: 0,
  way_code: "fold.grouped",
  way_sentence: "region is the supernode of region:north",
  held_at: null,
  state: "void" as const,
  reason_code: "fold.altered",
  reason_sentence: "the sum was refused",
  asked_at: "2026-01-01T12:00:00Z",
  updates: 4,
  size_bytes: 5000,
};

it("says who reports through whom and why, and what became of the sum", async () => {
  const routes = [way("kiosk", "gateway", "it has power"), way("lone", null, "it has no site")];
  await show(<Routes of={{ routes, folds: [SUM] }} />);
  expect(screen.getByText(/it has power/)).toBeDefined();
  expect(screen.getByText("the platform itself")).toBeDefined();
  expect(screen.getByText(/1 of 2 through a supernode/)).toBeDefined();
  expect(screen.getByText(/the sum was refused/)).toBeDefined();
  expect(screen.getByText(/region is the supernode of region:north/)).toBeDefined();
});

it("is not there where every device sends to the platform", async () => {
  await show(<Routes of={{ routes: [], folds: [] }} />);
  expect(screen.queryByText("Who reports through whom")).toBeNull();
});
