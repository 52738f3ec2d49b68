import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { AskForm } from "./AskForm";
import type { QuestionDetail } from "./queries";
import { Result } from "./Result";

const QUESTION: QuestionDetail = {
  id: "0a1b",
  federation: "7f0d",
  federation_slug: "digits",
  federation_name: "Digits",
  title: "",
  content: { count: { kind: "classes", classes: 3, most: 100 } },
  epsilon: 1,
  delta: 1e-6,
  devices_wanted: 20,
  state: "answered",
  reason_code: "analytics.answered",
  reason_sentence: "12 devices are counted",
  asked_at: "2026-01-01T00:00:00Z",
  closes_at: "2026-01-01T00:10:00Z",
  ended_at: "2026-01-01T00:02:00Z",
  counts: [120.4, 7.9, -2.1],
  deviation: 4.2,
  devices: 12,
  cells: ["0", "1", "2"],
  quantiles: { "0.5": 17.5 },
  asked: 12,
  declined: [],
};

it("asks nobody until it is said whom, and sends the question", async () => {
  signedIn("analytics.ask_question");
  const sent: unknown[] = [];
  const onAsked = vi.fn();
  answers("get", "/api/federations/", {
    count: 1,
    next: null,
    previous: null,
    results: [{ id: "7f0d", name: "Digits" }] as never,
  });
  answers("post", "/api/analytics/", async (request) => {
    sent.push(await request.json());
    return { ...QUESTION, state: "open" as const };
  });
  await show(<AskForm onAsked={onAsked} />);
  const button = await screen.findByRole("button", { name: "Ask" });
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(screen.getByPlaceholderText("federation"));
  await userEvent.click(await screen.findByText("Digits"));
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  const time = screen.getByRole("textbox", { name: "Time to join" });
  await userEvent.clear(time);
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(time, "2 h");
  await userEvent.click(button);
  await waitFor(() => expect(onAsked).toHaveBeenCalled());
  expect(sent).toEqual([
    {
      federation: "7f0d",
      title: "",
      content: { count: { kind: "classes", classes: 10, most: 100 }, among: "all", min_devices: 10 },
      epsilon: 1,
      devices: 20,
      within_s: 7200,
    },
  ]);
});

it("shows an answer with its error and its cost", async () => {
  signedIn("analytics.ask_question");
  await show(<Result question={QUESTION} />);
  expect(await screen.findByText("each count is right to ±8.4 in 95 of 100 cases")).toBeDefined();
  expect(screen.getByText("of each device, at delta 0.000001")).toBeDefined();
  expect(screen.getByText("50% below 17.5")).toBeDefined();
  expect(screen.getByRole("slider").getAttribute("aria-valuetext")).toContain("2: devices or samples -2.1");
});
