import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { FederationPrivacy } from "./FederationPrivacy";
import { type FederationPrivacy as Account, epsilon } from "./queries";

const ACCOUNT: Account = {
  kind: "central_noise",
  budget: { epsilon: 8, delta: 1e-6, changed_at: null },
  epsilon: 2.5612,
  epsilon_of_release: 0.5,
  rounds_left: 41,
  curve: [],
};

it("tells how long the budget lasts, and what has been spent of it", async () => {
  signedIn("privacy.change_federation_budget");
  answers("get", "/api/federations/{id}/privacy/", ACCOUNT);
  await show(<FederationPrivacy id="7f0d" />);
  expect(await screen.findByText("2.57 of 8")).toBeDefined();
  expect(screen.getByText("lasts 41 more rounds if devices take turns; one alone costs 0.5")).toBeDefined();
});

it("asks before more may be spent than was promised, and sends the budget", async () => {
  signedIn("privacy.change_federation_budget");
  const sent: unknown[] = [];
  answers("get", "/api/federations/{id}/privacy/", ACCOUNT);
  answers("put", "/api/federations/{id}/privacy/", async (request) => {
    sent.push(await request.json());
    return { ...ACCOUNT, budget: { epsilon: 9, delta: 1e-6, changed_at: "2026-01-01T00:00:00Z" } };
  });
  await show(<FederationPrivacy id="7f0d" />);
  const field = await screen.findByLabelText("Epsilon");
  await userEvent.clear(field);
  await userEvent.type(field, "9");
  const button = screen.getByRole("button", { name: "Change the budget" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  expect(await screen.findByText(/More may then be revealed/)).toBeDefined();
  expect(sent).toEqual([]);
  const buttons = screen.getAllByRole("button", { name: "Change the budget" });
  await userEvent.click(buttons[buttons.length - 1] as HTMLElement);
  expect(await screen.findByText("It holds from the next release on.")).toBeDefined();
  expect(sent).toEqual([{ epsilon: 9, delta: 1e-6 }]);
});

it("says where a plan spends nothing", async () => {
  signedIn("privacy.change_federation_budget");
  answers("get", "/api/federations/{id}/privacy/", {
    ...ACCOUNT,
    kind: "clip",
    epsilon: 0,
    epsilon_of_release: null,
    rounds_left: null,
  });
  await show(<FederationPrivacy id="7f0d" />);
  expect(await screen.findByText("Under this plan no epsilon is guaranteed, so none is spent.")).toBeDefined();
});

it("rounds what is spent up", () => {
  expect([0, 0.0512, 0.05121, 2, 2.0001, 123.4].map(epsilon)).toEqual(["0", "0.0512", "0.0513", "2", "2.01", "124"]);
});
