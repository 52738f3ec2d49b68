import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { CancelRun } from "./CancelRun";
import type { Outcome } from "./outcome";
import type { Run, RunDetail, TriedPlan } from "./queries";
import { RunParts } from "./RunParts";
import { Runs } from "./Runs";
import { TriedPlans } from "./TriedPlans";

const STANDING = { state: "succeeded", progress: 1, left_s: null, reason_code: "", reason_sentence: "" } as const;
const DEVICES = { device_accuracy_median: 0.95, device_accuracy_worst_decile: 0.71, joules_per_device: 1340 };
const FIGURES = { accuracy: 0.934, accuracies: [0.5, 0.934], bytes_per_device: 352_000, asked_by: "ada", ...DEVICES };
const TIMES = { created_at: "2026-11-01T10:00:00Z", started_at: null, finished_at: null };

function run(id: string, seed: number, more: Partial<Run> = {}): Run {
  return {
    id,
    fleet: "f",
    pair_name: "gait.pt2",
    data_name: "people.npz",
    devices: 2000,
    wanted: { plan: { local: { kind: "sgd" } }, seed, rounds: 40, evaluate_every: 1 },
    attempts: 1,
    ...STANDING,
    ...FIGURES,
    ...TIMES,
    ...more,
  };
}

function listed<Row>(...results: readonly Row[]) {
  return { count: results.length, next: null, previous: null, results: [...results] };
}

beforeEach(() => signedIn());

it("tells runs apart, how far they are and how long they take still", async () => {
  const running = run("2", 1, { state: "running", progress: 0.25, left_s: 95, accuracy: null, accuracies: null });
  answers("get", "/api/simulation-runs/", listed(run("1", 0), running));
  await show(<Runs search={{ show: ["energy"] }} onSearch={vi.fn()} />);
  expect(await screen.findByText("seed 0")).toBeDefined();
  expect(screen.getByText("seed 1")).toBeDefined();
  expect(screen.getByText("25%, about 95 s left")).toBeDefined();
  expect(screen.getByText("93.4%")).toBeDefined();
  expect(screen.getAllByText("median 95.0%, worst tenth 71.0%")).toHaveLength(2);
  expect(screen.getAllByText("1.34 kJ")).toHaveLength(2);
});

it("cancels a run with a reason, and offers that of none that has ended", async () => {
  signedIn("simulation_runs.cancel_run");
  const sent: unknown[] = [];
  answers("post", "/api/simulation-runs/{id}/cancel/", async (request) => {
    sent.push(await request.json());
    return run("1", 0, { state: "cancelled" });
  });
  const user = userEvent.setup();
  await show(
    <>
      <CancelRun run={run("1", 0, { state: "running" })} />
      <CancelRun run={run("2", 1)} />
    </>,
  );
  await user.click(await screen.findByRole("button", { name: "Cancel" }));
  await user.type(await screen.findByLabelText("Why"), "the samples are wrong");
  await user.click(screen.getByRole("button", { name: "Cancel the run" }));
  await screen.findByText("The run is cancelled.");
  expect(sent).toEqual([{ why: "the samples are wrong" }]);
});

it("says how far a run was that was cancelled, and why", async () => {
  answers("get", "/api/simulation-runs/", listed(run("1", 0)));
  const reason = { reason_code: "simulation_runs.cancelled", reason_sentence: "ada cancelled it: too long" };
  const stopped = { ...run("1", 0, { state: "cancelled", progress: 0.25, ...reason }), outcome: "" } as RunDetail;
  await show(<RunParts run={stopped} outcome={undefined} />);
  expect(await screen.findByText("ada cancelled it: too long")).toBeDefined();
  expect(screen.getByText(/It had held 25.0% of its rounds/)).toBeDefined();
});

it("asks for the newest runs first, of the sweep that the address names", async () => {
  let asked = "";
  answers("get", "/api/simulation-runs/", (request) => {
    asked = new URL(request.url).search;
    return listed();
  });
  await show(<Runs search={{ fleet: "f" }} onSearch={vi.fn()} />);
  expect(await screen.findByText("No such run")).toBeDefined();
  expect(asked).toContain("sort=-created_at");
  expect(asked).toContain("fleet=f");
  expect(screen.getByText("Show all sweeps")).toBeDefined();
});

it("says how simulations come about where there is none", async () => {
  answers("get", "/api/simulation-runs/", listed());
  answers("get", "/api/plan-forecasts/", listed());
  await show(
    <>
      <Runs search={{}} onSearch={vi.fn()} />
      <TriedPlans search={{}} onSearch={vi.fn()} />
    </>,
  );
  expect(await screen.findByText("No run yet")).toBeDefined();
  expect(screen.getByText(/coterie simulate .* --on platform/)).toBeDefined();
  expect(await screen.findByText("No plan was tried yet")).toBeDefined();
  expect(screen.getByText(/choose “Try this plan”/)).toBeDefined();
});

it("says on what a plan was tried, and why that failed", async () => {
  const failed = { state: "failed", reason_code: "simulation.cannot_simulate", reason_sentence: "It does not fit." };
  const tried = { ...FIGURES, ...TIMES, ...STANDING, ...failed, id: "1", federation_name: "Kiosks", rounds: 20 };
  const on = { scenario: null, dataset_name: "digits held out", profile: "phones", devices: 120 };
  answers("get", "/api/plan-forecasts/", listed({ ...tried, ...on } as unknown as TriedPlan));
  await show(<TriedPlans search={{}} onSearch={vi.fn()} />);
  expect(await screen.findByText("Kiosks")).toBeDefined();
  expect(screen.getByText("digits held out")).toBeDefined();
  expect(screen.getByText("120 phones")).toBeDefined();
  expect(screen.getByText("It does not fit.")).toBeDefined();
});

it("shows a run beside the others of its sweep, the best first", async () => {
  let asked = "";
  answers("get", "/api/simulation-runs/", (request) => {
    asked = new URL(request.url).search;
    return listed(run("2", 1), run("1", 0, { accuracy: 0.5 }));
  });
  const waits = { ...run("1", 0, { state: "queued" }), outcome: "" } as RunDetail;
  await show(<RunParts run={waits} outcome={undefined} />);
  expect(await screen.findByText("It waits for a worker of the platform.")).toBeDefined();
  expect(await screen.findByRole("link", { name: "seed 1" })).toBeDefined();
  expect(screen.getAllByText("median 95.0%, worst tenth 71.0%")).toHaveLength(2);
  expect(screen.getAllByText("1.34 kJ")).toHaveLength(2);
  expect(screen.queryByRole("link", { name: "seed 0" })).toBeNull();
  expect(asked).toContain("sort=-accuracy");
});

it("says why a run waits", async () => {
  answers("get", "/api/simulation-runs/", listed(run("1", 0)));
  const reason = { reason_code: "storage.unavailable", reason_sentence: "it goes on 5 s from now: refused" };
  const waits = { ...run("1", 0, { state: "queued", ...reason }), outcome: "" } as RunDetail;
  await show(<RunParts run={waits} outcome={undefined} />);
  expect(await screen.findByText("it goes on 5 s from now: refused")).toBeDefined();
  expect(screen.queryByText("It waits for a worker of the platform.")).toBeNull();
});

it("says what became of changes where samples came over time, and shows no rounds where none were held", async () => {
  answers("get", "/api/simulation-runs/", listed(run("1", 0)));
  const outcome: Outcome = {
    devices: 8,
    samples: 400,
    held_out: 100,
    executor: "exact",
    executor_reason: "",
    rounds: [],
    ended: "horizon",
    simulated_s: 86_400,
    accuracy: 0.75,
    loss: null,
    class_accuracy: [0.5, 1],
    participants: 8,
    client_rounds: 0,
    bytes_by_kind: { metadata: 10 },
    messages_by_kind: { metadata: 1 },
    trained_s: 9,
    drift: { kind: "introduced", share: 0.5 },
    help: [{ outcome: "kept" }, { outcome: "unmatched" }],
    recoveries: [{ batches: 2 }, { batches: null }, { batches: 0 }],
  };
  await show(<RunParts run={{ ...run("1", 0), outcome: JSON.stringify(outcome) } as RunDetail} outcome={outcome} />);
  expect(await screen.findByText("75.0%, of each sample before its device learned from it")).toBeDefined();
  expect(screen.getByText("2 of 3")).toBeDefined();
  expect(screen.getByText("2, of which 1 gave a portion that was kept")).toBeDefined();
  expect(screen.queryByRole("heading", { name: "Rounds" })).toBeNull();
  expect(screen.queryByText(/over before all rounds were held/)).toBeNull();
});
