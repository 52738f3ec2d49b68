import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { NoParts } from "../agents/NoParts";
import type { AgentRollout } from "../agents/queries";
import { One } from "../models/Evaluations";
import type { Evaluation, EvaluationDetail } from "../models/evaluations";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";

const DELETED = /deleted 365 days after the end; the totals stay/;
const FIGURES = { devices: 4, reports: 3, faults: 0, summary: null, by_tag: {} };
const EVALUATION = { id: "e-1", state: "finished", version_number: 3, figures: FIGURES } as unknown as Evaluation;

function evaluated(parts: readonly unknown[], days: number | null): void {
  signedIn();
  answers("get", "/api/evaluations/{id}/", {
    ...EVALUATION,
    parts,
    answers_deleted_after_days: days,
  } as unknown as EvaluationDetail);
}

it("says why no device of an old evaluation is told of, and saves no empty table", async () => {
  evaluated([], 365);
  await show(<One evaluation={EVALUATION} />);
  expect(await screen.findByText(DELETED)).toBeDefined();
  expect(screen.queryByRole("button", { name: /CSV/ })).toBeNull();
});

it("says nothing of it while answers are there", async () => {
  evaluated([{ id: 1, device: "d-1", device_name: "hall-3", reported_at: null }], 365);
  await show(<One evaluation={EVALUATION} />);
  expect(await screen.findByRole("button", { name: /CSV/ })).toBeDefined();
  expect(screen.queryByText(DELETED)).toBeNull();
});

it.each([
  [{ installed: 2 }, 365, DELETED],
  [{ installed: 2 }, null, /asked within seconds/],
  [{}, 365, /asked within seconds/],
])("tells a roll-out whose devices were deleted from one that has asked none: %j, %j", async (figures, days, says) => {
  await show(<NoParts rollout={{ figures, answers_deleted_after_days: days } as unknown as AgentRollout} />);
  expect(screen.getByText(says)).toBeDefined();
});
