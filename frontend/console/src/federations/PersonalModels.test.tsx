import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { PersonalModels } from "./PersonalModels";
import type { Federation } from "./queries";

const FIGURES = "/api/federations/{id}/personal-models/";
const FEDERATION = { id: "7f0d1c5e-0000-4000-8000-000000000001" } as unknown as Federation;

beforeEach(() => signedIn());

it("sets what answers beside the version, over devices", async () => {
  answers("get", FIGURES, {
    trained: "between rounds",
    count: 40,
    answering: 31,
    version: { median: 0.5, worst_decile: 0.21, tenths: [0, 0, 4, 6, 20, 10, 0, 0, 0, 0] },
    answers: { median: 0.9, worst_decile: 0.64, tenths: [0, 0, 0, 0, 0, 0, 4, 6, 10, 20] },
  });
  await show(<PersonalModels federation={FEDERATION} />);
  expect(await screen.findByText("31 of 40")).toBeDefined();
  expect(screen.getByText("50.0% → 90.0%")).toBeDefined();
  expect(screen.getByText("21.0% → 64.0%")).toBeDefined();
  expect(screen.getByRole("slider").getAttribute("aria-valuetext")).toContain(
    "90–100%: the version 0, what answers 20",
  );
});

it("draws no accuracy where nobody tells one", async () => {
  answers("get", FIGURES, { trained: "in rounds", count: 2, answering: 1, version: null, answers: null });
  await show(<PersonalModels federation={FEDERATION} />);
  expect(await screen.findByText(/no right and wrong/)).toBeDefined();
});

it.each([
  [null, /devices train no model of their own/],
  ["between rounds" as const, /Each device trains one/],
  ["in rounds" as const, /in the rounds that it has part in/],
])("says why there is none where they are trained %s", async (trained, why) => {
  answers("get", FIGURES, { trained, count: 0, answering: 0, version: null, answers: null });
  await show(<PersonalModels federation={FEDERATION} />);
  expect(await screen.findByText(why)).toBeDefined();
});
