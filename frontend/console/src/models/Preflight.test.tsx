import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { PreflightReport, Rejected, Work } from "./Preflight";
import type { Pair } from "./queries";

const PAIR = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  name: "digits",
  state: "ready",
  report: {
    device_parameters: 38_282,
    cloud_parameters: 250_000,
    teacher_problem: "aten::sort has no gradient",
    operators: { Conv: 4, MatMul: 2 },
    train_step_bytes: 20_000,
    predict_bytes: 5_000,
    parameters_bytes: 153_784,
    frozen_bytes: 0,
    step_s: 0.0042,
    step_memory_bytes: 3_000_000,
    process_memory_bytes: 90_000_000,
    devices: [
      { device: "Raspberry Pi 4", memory_bytes: 1e9, fits: true, step_s: 0.03 },
      { device: "Raspberry Pi 3", memory_bytes: 5e8, fits: false, step_s: 0.08 },
    ],
  },
} as unknown as Pair;

it("tells what a pair takes of usual devices", async () => {
  await show(<PreflightReport pair={PAIR} />);
  expect(screen.getByText("38,282")).toBeDefined();
  expect(screen.getByText("154 kB")).toBeDefined();
  expect(screen.getByText(/aten::sort has no gradient/)).toBeDefined();
  const [four, three] = screen.getAllByRole("row").slice(1);
  expect(four?.textContent).toMatch(/Raspberry Pi 4.*fits.*1.00 GB.*30 ms/);
  expect(three?.textContent).toContain("too large");
});

it("shows nothing of a pair that was not checked", async () => {
  await show(<PreflightReport pair={{ ...PAIR, report: {} } as Pair} />);
  expect(screen.queryByText("Pre-flight report")).toBeNull();
});

it("shows the pre-flight while it runs, with its log", async () => {
  const job = { id: "j", kind: "preflight", state: "running", progress: 0.4, progress_sentence: "training 2 of 5" };
  answers("get", "/api/jobs/", { count: 1, results: [job] } as never);
  answers("get", "/api/jobs/{id}/log/", {
    count: 1,
    results: [{ id: 1, at: "2026-01-01T12:00:00Z", text: "compiled" }],
  } as never);
  await show(<Work pair={{ ...PAIR, state: "checking" } as Pair} />);
  expect(await screen.findByText("training 2 of 5")).toBeDefined();
  expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("40");
  expect(await screen.findByText("compiled")).toBeDefined();
});

it("says what a rejected pair must change", async () => {
  const rejected = {
    ...PAIR,
    state: "rejected",
    reason_code: "compile.unsupported_operator",
    reason_sentence: "aten.nonzero cannot be compiled.",
    reason_fields: { operator: "aten.nonzero.default", module: "encoder" },
  } as unknown as Pair;
  await show(<Rejected pair={rejected} />);
  expect(screen.getByText("aten.nonzero.default")).toBeDefined();
  expect(screen.getByRole("link", { name: "upload it anew" })).toBeDefined();
});
