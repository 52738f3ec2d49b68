import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import type { Job, JobWorkers } from "./queries";
import { Workers } from "./Workers";

const JOB = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  launcher: "",
  launcher_state: "",
  launcher_sentence: "",
} as Job;

const WORKERS: JobWorkers = {
  ranks: 4,
  launcher_wanted: "slurm",
  state: "waiting",
  reason_code: "cluster.no_launcher",
  reason_sentence: "waits for a host with launcher slurm",
  since: "2026-01-01T00:00:00Z",
  placed_at: null,
  shares: [],
};

it("says which launcher the workers wait for, and why", async () => {
  answers("get", "/api/jobs/{id}/workers/", WORKERS);
  await show(<Workers job={JOB} />);
  expect(await screen.findByText("4 workers, to be started by SLURM")).toBeDefined();
  expect(screen.getByText(/waits for a host with launcher slurm/)).toBeDefined();
});

it("says how the workers are at another scheduler, in its words", async () => {
  const shares = [{ host: "door", ranks: 4, gpus: [], launcher: "slurm" }];
  answers("get", "/api/jobs/{id}/workers/", { ...WORKERS, state: "placed", reason_code: "", shares });
  const job: Job = { ...JOB, launcher: "slurm", launcher_state: "waits", launcher_sentence: "pending: Resources" };
  await show(<Workers job={job} />);
  expect(await screen.findByText("4 workers: 4 on door")).toBeDefined();
  expect(screen.getByText("SLURM has them wait: pending: Resources.")).toBeDefined();
});

it("says that the platform's hosts run them, by their names and on which of their GPUs", async () => {
  const shares = [
    { host: "a", ranks: 3, gpus: [0, 1, 3], launcher: "here" },
    { host: "b", ranks: 1, gpus: [2], launcher: "here" },
  ];
  answers("get", "/api/jobs/{id}/workers/", {
    ...WORKERS,
    launcher_wanted: "",
    state: "placed",
    reason_code: "",
    shares,
  });
  await show(<Workers job={{ ...JOB, launcher: "here", launcher_state: "runs" }} />);
  expect(await screen.findByText("4 workers: 3 on a, on its GPUs 0, 1, 3; 1 on b, on its GPU 2")).toBeDefined();
  expect(screen.getByText("The platform's hosts run them.")).toBeDefined();
});
