import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers, fallsSilent } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { Repair } from "./queries";
import { Repairs } from "./Repairs";

const FAULT: Repair = {
  key: "rounds_abandoned:7f",
  code: "rounds.too_few_updates",
  severity: "error",
  sentence: "The last 3 rounds of digits were abandoned.",
  advice: "Pause it while you look into the rounds.",
  subject_kind: "federations.federation",
  subject_id: "7f",
  subject_name: "digits",
  since: null,
  remedies: [
    { title: "Pause", action: "federations.pause_federation", method: "POST", path: "/api/federations/7f/pause/" },
    { title: "See the rounds", action: "", method: "GET", path: "/api/rounds/?federation=7f&state=abandoned" },
  ],
};

it("says what is wrong and leads to the page where one sees it", async () => {
  signedIn();
  answers("get", "/api/repairs/", [FAULT]);
  const { router } = await show(<Repairs />);
  expect(await screen.findByText(FAULT.sentence)).toBeDefined();
  expect(screen.getByLabelText("error")).toBeDefined();
  await userEvent.click(screen.getByRole("link", { name: "See the rounds" }));
  expect(router.history.location.href).toBe("/federations/7f?tab=rounds&state=abandoned");
});

it("repairs with a button, and looks again", async () => {
  signedIn("federations.pause_federation");
  let faults = [FAULT];
  answers("get", "/api/repairs/", () => faults);
  answers("post", "/api/federations/{id}/pause/", () => {
    faults = [];
    return {} as never;
  });
  await show(<Repairs />);
  const pause = await screen.findByRole("button", { name: "Pause" });
  await waitFor(() => expect(pause.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(pause);
  expect(await screen.findByText("Nothing needs you.")).toBeDefined();
});

it("is silent about a fault for as long as one wants", async () => {
  signedIn("repairs.mute_repair");
  answers("get", "/api/repairs/", [FAULT]);
  const muted: unknown[] = [];
  answers("post", "/api/muted-repairs/", async (request) => {
    muted.push(await request.json());
    return {} as never;
  });
  await show(<Repairs />);
  await userEvent.click(await screen.findByRole("button", { name: "Not now" }));
  const ignore = await screen.findByRole("button", { name: "Ignore it" });
  await waitFor(() => expect(ignore.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(ignore);
  await waitFor(() => expect(muted).toEqual([{ key: FAULT.key, until: null }]));
});

it("says that the platform does not answer, and asks again", async () => {
  signedIn();
  fallsSilent("get", "/api/repairs/");
  await show(<Repairs />);
  expect(await screen.findByText(/The platform does not answer/)).toBeDefined();
  answers("get", "/api/repairs/", []);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByText("Nothing needs you.")).toBeDefined();
});

it("shows again what was put off", async () => {
  signedIn("repairs.restore_repair");
  answers("get", "/api/repairs/", []);
  let muted = [{ id: 7, key: FAULT.key, sentence: FAULT.sentence, until: null, muted_at: "2026-01-01T00:00:00Z" }];
  answers("get", "/api/muted-repairs/", () => ({ count: muted.length, next: null, previous: null, results: muted }));
  answers("delete", "/api/muted-repairs/{id}/", () => {
    muted = [];
    return null as never;
  });
  await show(<Repairs />);
  await userEvent.click(await screen.findByRole("button", { name: "Put off" }));
  expect(await screen.findByText(FAULT.sentence)).toBeDefined();
  const restore = screen.getByRole("button", { name: "Show it" });
  await waitFor(() => expect(restore.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(restore);
  expect(await screen.findByText("No repair is ignored or put off.")).toBeDefined();
});

it("tells a viewer why a fault cannot be put off", async () => {
  signedIn();
  answers("get", "/api/session/", {
    operator: { id: 2, username: "vera", role: "viewer" },
    may: [
      { action: "repairs.mute_repair", allowed: false, code: "accounts.not_allowed", sentence: "Yours is viewer." },
    ],
  } as never);
  answers("get", "/api/repairs/", [FAULT]);
  await show(<Repairs />);
  await userEvent.click(await screen.findByRole("button", { name: "Not now" }));
  const ignore = await screen.findByRole("button", { name: "Ignore it" });
  await userEvent.hover(ignore);
  expect(await screen.findByText("Yours is viewer.")).toBeDefined();
  expect(ignore.getAttribute("aria-disabled")).toBe("true");
});
