import { cleanup, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { AgentRollout } from "./queries";
import { RolloutActions } from "./RolloutActions";

const ROLLOUT = {
  id: "9a",
  version: "0.3.0",
  state: "running",
  phase: 0,
  phases: [0.05, 1],
  figures: { devices: 200, installed: 40, asked: 7, left_out: {} },
} as unknown as AgentRollout;
const ALL = [
  "agent_rollouts.pass_phase",
  ...["pause", "resume", "stop", "roll_back"].map((name) => `agent_rollouts.${name}_agent_rollout`),
];

it("says how many devices go back, and sends the reason", async () => {
  signedIn(...ALL);
  const sent: unknown[] = [];
  answers("post", "/api/agent-rollouts/{id}/roll-back/", async (request) => {
    sent.push(await request.json());
    return { ...ROLLOUT, state: "rolled_back" as const };
  });
  const user = userEvent.setup();
  await show(<RolloutActions rollout={ROLLOUT} />);
  await user.click(await screen.findByRole("button", { name: "Roll back" }));
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("the 40 devices that have agent 0.3.0 go back to the agent before");
  await user.type(await screen.findByLabelText("Why"), "it drains batteries");
  await user.click(screen.getAllByRole("button", { name: "Roll back" }).at(-1) as HTMLElement);
  await screen.findByText("Devices with agent 0.3.0 go back to the agent before.");
  expect(sent).toEqual([{ why: "it drains batteries" }]);
});

it("has the next phase begin, but not after the last", async () => {
  signedIn(...ALL);
  const sent: unknown[] = [];
  answers("post", "/api/agent-rollouts/{id}/pass-phase/", async (request) => {
    sent.push(await request.json());
    return { ...ROLLOUT, phase: 1 };
  });
  const user = userEvent.setup();
  await show(<RolloutActions rollout={ROLLOUT} />);
  await user.click(await screen.findByRole("button", { name: "Next phase" }));
  await screen.findByRole("dialog");
  await user.click(screen.getAllByRole("button", { name: "Next phase" }).at(-1) as HTMLElement);
  await screen.findByText("The next phase of agent 0.3.0 begins.");
  expect(sent).toEqual([{ why: "" }]);
  cleanup();
  await show(<RolloutActions rollout={{ ...ROLLOUT, phase: 1 }} />);
  await screen.findByRole("button", { name: "Stop" });
  expect(screen.queryByRole("button", { name: "Next phase" })).toBeNull();
});

it("offers to go on with one that is paused", async () => {
  signedIn(...ALL);
  await show(<RolloutActions rollout={{ ...ROLLOUT, state: "paused" }} />);
  await screen.findByRole("button", { name: "Resume" });
  expect(screen.queryByRole("button", { name: "Pause" })).toBeNull();
});

it("has nothing to do about one that has ended", async () => {
  signedIn(...ALL);
  await show(<RolloutActions rollout={{ ...ROLLOUT, state: "done" }} />);
  expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
});
