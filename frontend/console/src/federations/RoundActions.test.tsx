import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { RoundDetail } from "./queries";
import { RoundActions } from "./RoundActions";

const round = (facts: Partial<RoundDetail>) =>
  ({ id: 7, number: 3, state: "abandoned", why_not_again: null, ...facts }) as RoundDetail;
const REFUSAL = "Round 3 cannot be merged again: its updates have been removed.";

it("merges the updates of an abandoned round again, by the keyboard too", async () => {
  signedIn("rounds.merge_again");
  const asked: string[] = [];
  answers("post", "/api/rounds/{id}/merge-again/", (request) => {
    asked.push(new URL(request.url).pathname);
    return {} as never;
  });
  await show(<RoundActions round={round({})} />);
  const button = screen.getByRole("button", { name: "Merge again" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.tab();
  expect(document.activeElement).toBe(button);
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(asked).toEqual(["/api/rounds/7/merge-again/"]));
  expect(await screen.findByText("The updates of round 3 are merged again.")).toBeDefined();
});

it("says why they cannot be", async () => {
  signedIn("rounds.merge_again");
  await show(<RoundActions round={round({ why_not_again: REFUSAL })} />);
  const button = screen.getByRole("button", { name: "Merge again" });
  await userEvent.hover(button);
  expect(await screen.findByText(REFUSAL)).toBeDefined();
  expect(button.getAttribute("aria-disabled")).toBe("true");
});

it("is not there in a round that goes on, or has its version", async () => {
  signedIn("rounds.merge_again");
  await show(
    <>
      <RoundActions round={round({ state: "merging" })} />
      <RoundActions round={round({ state: "published" })} />
    </>,
  );
  expect(screen.queryByRole("button", { name: "Merge again" })).toBeNull();
});
