import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { Ensembles } from "./Ensembles";
import type { Version } from "./queries";

const VERSION = { id: "v", role: "device", number: 7, lineage: "", name: "" } as Version;
const TREES = {
  name: "",
  trees: 60,
  grown: 12,
  levels: 5,
  deepest: 4,
  leaves: 96,
  columns: [
    { number: 3, splits: 50, first_levels: 9 },
    { number: 0, splits: 34, first_levels: 3 },
  ],
};

it("tells how many trees have grown, how deep, and by which columns they split", async () => {
  answers("get", "/api/versions/{id}/ensembles/", [TREES]);
  await show(<Ensembles version={VERSION} />);
  expect(await screen.findByText(/12 of 60 trees have grown, 4 of 5 levels deep, with\s+96 leaves/)).toBeDefined();
  const [first, second] = screen.getAllByRole("row").slice(1);
  expect(first?.textContent).toBe("3509");
  expect(second?.textContent).toBe("0343");
});

it("names the part of a model that the trees are, and shows no columns before the first split", async () => {
  const ungrown = { ...TREES, name: "trees", grown: 0, deepest: 0, leaves: 0, columns: [] };
  answers("get", "/api/versions/{id}/ensembles/", [ungrown]);
  await show(<Ensembles version={VERSION} />);
  expect(await screen.findByText(/^trees: 0 of 60 trees have grown/)).toBeDefined();
  expect(screen.queryByRole("table")).toBeNull();
});

it("shows nothing of a model without trees", async () => {
  answers("get", "/api/versions/{id}/ensembles/", []);
  await show(<Ensembles version={VERSION} />);
  expect(screen.queryByRole("region")).toBeNull();
});
