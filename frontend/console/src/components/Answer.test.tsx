import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { show } from "../testing/show";
import { Answer } from "./Answer";

const NOTHING = { data: undefined, error: null, refetch: () => undefined };

it("shows that it waits, and then what came", async () => {
  await show(<Answer of={NOTHING}>{(data: string) => data}</Answer>);
  expect(screen.getByRole("status", { name: "Loading" }).getAttribute("aria-busy")).toBe("true");
  await show(<Answer of={{ ...NOTHING, data: "three rounds" }}>{(data: string) => data}</Answer>);
  expect(screen.getByText("three rounds")).toBeDefined();
});

it("shows why nothing came, and asks again", async () => {
  const refetch = vi.fn();
  const error = new Problem("internal", 500, "The platform failed at this.", {});
  await show(<Answer of={{ ...NOTHING, error, refetch }}>{(data: string) => data}</Answer>);
  expect(screen.getByText("The platform failed at this.")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(refetch).toHaveBeenCalledOnce();
});

it("keeps what was there when it could not be had again", async () => {
  const stale = { data: "three rounds", error: new TypeError("Failed to fetch"), refetch: () => undefined };
  await show(<Answer of={stale}>{(data: string) => data}</Answer>);
  expect(screen.getByText("three rounds")).toBeDefined();
});
