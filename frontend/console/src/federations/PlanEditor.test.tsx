import { fireEvent, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { PlanEditor } from "./PlanEditor";
import type { Federation } from "./queries";

const PREVIEW = "/api/federations/{id}/plan-preview/";
const FEDERATION = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  plan: { pace: { kind: "sync", min_updates: 5 } },
} as unknown as Federation;
const SYNC = {
  type: "object",
  properties: { kind: { enum: ["sync"] }, min_updates: { type: "integer", minimum: 1, default: 5 } },
};

// The whole form is drawn, which takes a busy machine seconds.
vi.setConfig({ testTimeout: 20_000 });

beforeEach(() => {
  signedIn("federations.change_plan");
  answers("get", "/api/datasets/", { count: 0, next: null, previous: null, results: [] });
  answers("get", "/api/plan-schema/", { pace: { sync: SYNC } } as never);
});

async function typeUpdates(text: string) {
  await show(<PlanEditor federation={FEDERATION} />);
  fireEvent.click(await screen.findByText(/when are updates merged/));
  fireEvent.change(await screen.findByLabelText("min updates"), { target: { value: text } });
  return screen.getByText("Change the plan").closest("button") as Element;
}

it("says what a change will do before it is made", async () => {
  const effects = ["Round 12 keeps its plan."];
  answers("post", PREVIEW, { problems: [], plan: {}, changes: [], effects, notes: [], traffic: null });
  const change = await typeUpdates("7");
  expect(await screen.findByText("Round 12 keeps its plan.")).toBeDefined();
  await waitFor(() => expect(change.getAttribute("aria-disabled")).toBe("false"));
});

it("says as one types what does not fit together, and offers no change then", async () => {
  const problem = { slot: "", field: "", code: "wire.plan", sentence: "min_updates 70 exceeds target_updates 20" };
  answers("post", PREVIEW, { problems: [problem], plan: null, changes: [], effects: [], notes: [], traffic: null });
  const change = await typeUpdates("70");
  expect(await screen.findByText("min_updates 70 exceeds target_updates 20")).toBeDefined();
  expect(change.getAttribute("aria-disabled")).toBe("true");
});

it("says from which plan a change was made, so that another operator's is not undone", async () => {
  const sent: unknown[] = [];
  answers("post", PREVIEW, { problems: [], plan: {}, changes: [], effects: [], notes: [], traffic: null });
  answers("patch", "/api/federations/{id}/", async (request) => {
    sent.push(await request.json());
    return FEDERATION as never;
  });
  const change = await typeUpdates("7");
  await waitFor(() => expect(change.getAttribute("aria-disabled")).toBe("false"));
  fireEvent.click(change);
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ plan: { pace: { min_updates: 7 } }, instead_of: FEDERATION.plan });
});
