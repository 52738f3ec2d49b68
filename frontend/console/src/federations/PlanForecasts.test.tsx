import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { courseOf, drawnOf } from "./forecasts";
import { PlanForecasts } from "./PlanForecasts";
import type { Federation, PlanForecast } from "./queries";

const PATH = "/api/federations/{id}/plan-forecasts/";
const FEDERATION = { id: "7f0d1c5e-0000-4000-8000-000000000001", plan: {} } as unknown as Federation;
const RANGE = { low: 0.7, middle: 0.8, high: 0.9 };

function tried(job: object, more: object = {}): PlanForecast {
  return {
    job: { id: "1", created_at: "2026-11-01T10:00:00Z", progress: 0.5, progress_sentence: "", left_s: null, ...job },
    plan: {},
    dataset_name: "digits",
    scenario: null,
    profile: null,
    profile_reason: "",
    drift: null,
    days: 14,
    devices: 30,
    rounds: 20,
    expected: null,
    happened: [],
    ...more,
  } as unknown as PlanForecast;
}

beforeEach(() => {
  signedIn("twin.try_plan", "cloud_training.cancel_job", "cloud_training.retry_job");
  answers("get", "/api/datasets/", { count: 0, next: null, previous: null, results: [] });
});

it("says how far one is, how long it takes still, and what stands in for the fleet's past", async () => {
  const job = { state: "running", progress_sentence: "simulated rounds 90 of 180", left_s: 95 };
  const forecast = tried(job, { profile: "phones", profile_reason: "The fleet's past has 3 updates." });
  answers("get", PATH, { calibration: [], forecasts: [forecast] });
  await show(<PlanForecasts federation={FEDERATION} />);
  expect(await screen.findByText("20 rounds with digits on 30 simulated phones.")).toBeDefined();
  expect(screen.getByText("simulated rounds 90 of 180, about 95 s left")).toBeDefined();
  expect(screen.getByText(/The fleet's past has 3 updates/)).toBeDefined();
  expect(screen.getByText("Cancel")).toBeDefined();
});

it("is cancelled with a reason, which stands beside it", async () => {
  const reason = { error_code: "cloud_training.cancelled", error_sentence: "ada cancelled it: the wrong samples" };
  let state = { state: "running", progress_sentence: "", left_s: null } as object;
  answers("get", PATH, () => ({ calibration: [], forecasts: [tried(state as never)] }));
  const sent: unknown[] = [];
  answers("post", "/api/jobs/{id}/cancel/", async (request) => {
    sent.push(await request.json());
    state = { state: "cancelled", ...reason };
    return state as never;
  });
  await show(<PlanForecasts federation={FEDERATION} />);
  await userEvent.click(await screen.findByRole("button", { name: "Cancel" }));
  await userEvent.type(await screen.findByLabelText("Why"), "the wrong samples");
  await userEvent.click(screen.getByRole("button", { name: "Cancel the job" }));
  expect(await screen.findByText("ada cancelled it: the wrong samples")).toBeDefined();
  expect(sent).toEqual([{ why: "the wrong samples" }]);
});

it("says why one failed, and offers to try it again", async () => {
  const job = { state: "failed", error_code: "simulation.cannot_simulate", error_sentence: "It does not fit." };
  answers("get", PATH, { calibration: [], forecasts: [tried(job)] });
  await show(<PlanForecasts federation={FEDERATION} />);
  expect(await screen.findByText("It does not fit.")).toBeDefined();
  expect(screen.getByText("Try again")).toBeDefined();
});

it("offers to try the plan where none was tried", async () => {
  answers("get", PATH, { calibration: [], forecasts: [] });
  await show(<PlanForecasts federation={FEDERATION} offers />);
  expect(await screen.findByText("No plan was tried yet")).toBeDefined();
  expect(screen.getByText("Try this plan")).toBeDefined();
});

it("puts what happened beside the round that was expected, in their order", () => {
  const rounds = [1, 2].map((number) => ({ number, draws: 9, ended_s: 60 * number, accuracy: RANGE }));
  const happened = [{ number: 41, accuracy: 0.83, duration_s: 12 }];
  const { accuracy, durations } = drawnOf(
    tried({ state: "succeeded" }, { expected: { rounds, duration_s: RANGE }, happened }),
  );
  expect(accuracy.map((one) => one.happened)).toEqual([0.83, null]);
  expect(durations[0]).toEqual({ number: 1, ...RANGE, happened: 12 });
});

const EXPECTED = {
  rounds: [],
  duration_s: null,
  lost: null,
  up_bytes: null,
  merged_share: null,
  moments: [1, 2].map((day) => ({ ends_s: 86_400 * day, accuracy: RANGE })),
  accuracy: RANGE,
  device_accuracy_median: RANGE,
  device_accuracy_worst_decile: RANGE,
  begins_with: 0.5,
  bytes_per_device: { low: 0, middle: 0, high: 0 },
  joules_per_device: RANGE,
  participants: RANGE,
  simulated_s: 172_800,
  draws: 9,
  durations: "simulated",
};

it("tells of a plan without rounds how right devices are while samples come", async () => {
  const asked = { drift: "steady", days: 2, profile: "kiosks", expected: EXPECTED };
  answers("get", PATH, { calibration: [], forecasts: [tried({ state: "succeeded" }, asked)] });
  await show(<PlanForecasts federation={FEDERATION} />);
  expect(
    await screen.findByText(/2 days on 30 simulated kiosks. Samples of digits come little by little/),
  ).toBeDefined();
  expect(screen.getByText(/of all predictions before devices learn; 50/)).toBeDefined();
  expect(screen.getByText("Accuracy by day, before devices learn from the samples")).toBeDefined();
  expect(screen.queryByText("A round takes")).toBeNull();
  expect(screen.queryByText("Duration of rounds under the plan")).toBeNull();
  expect(courseOf(tried({}, asked)).map(({ number }) => number)).toEqual([1, 2]);
});

it("asks for samples that come little by little", async () => {
  const dataset = { id: "7f0d1c5e-0000-4000-8000-000000000009", name: "digits" };
  answers("get", "/api/datasets/", { count: 1, next: null, previous: null, results: [dataset] } as never);
  answers("get", PATH, { calibration: [], forecasts: [] });
  const sent: { drift?: string | null; days?: number }[] = [];
  answers("post", PATH, async (request) => {
    sent.push((await request.json()) as object);
    return tried({ state: "queued" }) as never;
  });
  await show(<PlanForecasts federation={FEDERATION} offers />);
  await userEvent.click(await screen.findByRole("button", { name: "Try this plan" }));
  await userEvent.click(await screen.findByRole("combobox", { name: "When samples come" }));
  await userEvent.click(await screen.findByRole("option", { name: "come little by little" }));
  const buttons = screen.getAllByRole("button", { name: "Try this plan" });
  await userEvent.click(buttons[buttons.length - 1] as HTMLElement);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ drift: "steady", days: 14, rounds: 20 });
});
