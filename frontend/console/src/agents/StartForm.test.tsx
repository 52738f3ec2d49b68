import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { AgentReleases, AgentRollout } from "./queries";
import { StartForm } from "./StartForm";

const RELEASES: AgentReleases = {
  served: true,
  releases: [{ version: "0.3.0", size_bytes: 700_000 }],
  expiries: [{ role: "timestamp", expires_at: "2030-01-01T00:00:00Z", expired: false }],
};

function aFleet(active: readonly Partial<AgentRollout>[] = []): void {
  signedIn("agent_rollouts.start_agent_rollout");
  answers("get", "/api/agent-rollouts/", { count: active.length, results: active } as never);
  answers("get", "/api/agent-versions/", [
    { version: "0.2.0", devices: 50, taking: 40, refusing: [] },
    { version: "0.3.0", devices: 3, taking: 3, refusing: [] },
  ]);
}

it("says how many devices each phase asks, and sends shares, seconds and the tag", async () => {
  aFleet();
  const sent: unknown[] = [];
  answers("post", "/api/agent-rollouts/", async (request) => {
    sent.push(await request.json());
    return { id: "9a" } as AgentRollout;
  });
  const user = userEvent.setup();
  const started: string[] = [];
  await show(<StartForm of={RELEASES} onStarted={({ id }) => started.push(id)} />);
  await screen.findByText("It asks 2 at first, then 10, then 40, of 40 devices that take it.");
  const phases = screen.getByLabelText("Phases");
  await user.clear(phases);
  await user.type(phases, "10, 5");
  expect(screen.getByRole("button", { name: "Roll out" }).getAttribute("aria-disabled")).toBe("true");
  await user.clear(phases);
  await user.type(phases, "10, 100");
  await user.type(screen.getByLabelText("Tag"), "lab");
  await user.click(screen.getByRole("button", { name: "Roll out" }));
  await screen.findByText("Agent 0.3.0 is on its way.");
  const terms = { hold_s: 86_400, probation_s: 600, absent_s: 604_800, most_failures: 0.1 };
  expect(sent).toEqual([{ version: "0.3.0", tag: "lab", phases: [0.1, 1], ...terms }]);
  expect(started).toEqual(["9a"]);
});

it("says that another is on its way", async () => {
  aFleet([{ id: "7", version: "0.2.9" }]);
  await show(<StartForm of={RELEASES} onStarted={() => undefined} />);
  await screen.findByText(/Agent 0.2.9 is on its way already/);
  expect(screen.getByRole("button", { name: "Roll out" }).getAttribute("aria-disabled")).toBe("true");
});
