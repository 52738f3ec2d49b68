import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { Webhook } from "./telling";
import { Webhooks } from "./Webhooks";

const HOOK: Webhook = {
  id: 3,
  name: "on-call channel",
  url: "https://hooks.example/on-call",
  events: ["job.failed"],
  is_active: true,
  created_at: "2026-01-01T12:00:00Z",
};

it("makes a webhook and shows its secret once", async () => {
  signedIn("webhooks.create_webhook");
  let hooks: Webhook[] = [];
  answers("get", "/api/webhooks/", () => ({ count: hooks.length, next: null, previous: null, results: hooks }));
  const sent: unknown[] = [];
  answers("post", "/api/webhooks/", async (request) => {
    sent.push(await request.json());
    hooks = [HOOK];
    return { ...HOOK, secret: "whsec_c2VjcmV0" };
  });
  await show(<Webhooks search={{}} onSearch={() => undefined} />);
  expect(await screen.findByText("No webhook yet")).toBeDefined();
  const make = screen.getByRole("button", { name: "Make a webhook" });
  expect(make.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(screen.getByLabelText("Name"), HOOK.name);
  await userEvent.type(screen.getByLabelText("Address"), HOOK.url);
  await userEvent.click(screen.getByRole("combobox", { name: "It is told when" }));
  await userEvent.click(await screen.findByRole("option", { name: "a job fails" }));
  await waitFor(() => expect(make.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(make);
  expect(await screen.findByText("whsec_c2VjcmV0")).toBeDefined();
  expect(sent).toEqual([{ name: HOOK.name, url: HOOK.url, events: HOOK.events }]);
  expect(await screen.findByText(HOOK.url)).toBeDefined();
});

it("pauses one that is told too much", async () => {
  signedIn("webhooks.change_webhook");
  answers("get", "/api/webhooks/", { count: 1, next: null, previous: null, results: [HOOK] });
  const sent: unknown[] = [];
  answers("patch", "/api/webhooks/{id}/", async (request) => {
    sent.push(new URL(request.url).pathname, await request.json());
    return HOOK;
  });
  await show(<Webhooks search={{}} onSearch={() => undefined} />);
  const pause = await screen.findByRole("button", { name: "Pause" });
  await waitFor(() => expect(pause.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(pause);
  await waitFor(() => expect(sent).toEqual(["/api/webhooks/3/", { is_active: false }]));
});
