import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { Federation } from "./queries";
import { Terms } from "./Terms";

const FEDERATION = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  tolerance: 0.02,
  patience: null,
  attempts: 5,
} as Federation;

it("sends the terms that were changed, and leaves the others as they are", async () => {
  signedIn("federations.change_terms");
  const sent: unknown[] = [];
  answers("patch", "/api/federations/{id}/", async (request) => {
    sent.push(await request.json());
    return FEDERATION;
  });
  await show(<Terms federation={FEDERATION} />);
  const button = screen.getByRole("button", { name: "Change" });
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(screen.getByLabelText("Patience"), "3");
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  expect(await screen.findByText("It holds from the next merge on.")).toBeDefined();
  expect(sent).toEqual([{ patience: 3 }]);
});
