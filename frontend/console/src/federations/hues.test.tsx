import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { useFederationHue } from "./hues";

const IDS = ["7f0d1c5e-0000-4000-8000-000000000001", "7f0d1c5e-0000-4000-8000-000000000002"] as const;

function Hues() {
  const hueOf = useFederationHue();
  return <p>{[...IDS, "another"].map((id) => String(hueOf(id))).join(" ")}</p>;
}

it("gives each federation the hue of its place among all, wherever it is drawn", async () => {
  const results = IDS.map((id) => ({ id }));
  answers("get", "/api/federations/", { count: 2, next: null, previous: null, results } as never);
  await show(<Hues />);
  expect(await screen.findByText("0 1 undefined")).toBeDefined();
});
