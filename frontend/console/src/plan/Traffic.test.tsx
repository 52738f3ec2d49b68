import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { Traffic } from "./Traffic";

const EXACT = {
  update_bytes: 38_300,
  least_update_bytes: 38_300,
  most_update_bytes: 38_300,
  version_bytes: 153_000,
  difference_bytes: 153_000,
  round_up_bytes: 383_000,
  round_down_bytes: 1_530_000,
  rounds_a_month: 30,
  month_up_bytes: 11_500_000,
  month_down_bytes: 45_900_000,
};

it("says what a device, a round and a month send and fetch", async () => {
  await show(<Traffic of={EXACT} />);
  expect(await screen.findByText("38.3 kB up, 153 kB down")).toBeDefined();
  expect(screen.getByText("383 kB up, 1.53 MB down")).toBeDefined();
  expect(screen.getByText("11.5 MB up, 45.9 MB down")).toBeDefined();
});

it("says what a device fetches that holds the version before", async () => {
  await show(<Traffic of={{ ...EXACT, difference_bytes: 4200 }} />);
  expect(await screen.findByText("38.3 kB up, about 4.20 kB (153 kB at first) down")).toBeDefined();
});

it("says between which bounds an entropy code lies", async () => {
  await show(<Traffic of={{ ...EXACT, update_bytes: 2100, least_update_bytes: 332 }} />);
  expect(await screen.findByText("about 2.10 kB (332 B to 38.3 kB) up, 153 kB down")).toBeDefined();
});
