import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import FirstSteps from "./FirstSteps";

const NONE = { count: 0, results: [], next: null, previous: null };

function holds(counts: Partial<Record<"pairs" | "versions" | "devices" | "federations" | "rounds", number>>): void {
  for (const list of ["pairs", "versions", "devices", "federations", "rounds"] as const) {
    answers("get", `/api/${list}/`, { ...NONE, count: counts[list] ?? 0 } as never);
  }
}

it("starts the example and tells what it does", async () => {
  signedIn("registry.submit_pair");
  holds({});
  let state: "none" | "running" = "none";
  answers("get", "/api/example/", () => ({
    unavailable: "",
    state,
    says: state === "none" ? "" : "Both models are exported",
  }));
  answers("post", "/api/example/", () => {
    state = "running";
    return { unavailable: "", state, says: "" };
  });
  await show(<FirstSteps />);
  const button = await screen.findByRole("button", { name: "Try it" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  expect(await screen.findByText("Both models are exported")).toBeDefined();
  expect(button.getAttribute("aria-disabled")).toBe("true");
});

it("says why the example cannot run on this platform", async () => {
  signedIn("registry.submit_pair");
  holds({});
  answers("get", "/api/example/", { unavailable: "this platform has several machines", state: "none", says: "" });
  await show(<FirstSteps />);
  await userEvent.hover(await screen.findByRole("button", { name: "Try it" }));
  expect(await screen.findByText(/several machines/)).toBeDefined();
});

it("knows which steps are done", async () => {
  signedIn();
  holds({ pairs: 1, versions: 2 });
  answers("get", "/api/example/", { unavailable: "", state: "none", says: "" });
  await show(<FirstSteps />);
  const steps = within(await screen.findByRole("list")).getAllByRole("listitem");
  expect(steps.map((step) => step.textContent?.includes(" done"))).toEqual([true, true, false, false, false]);
});
