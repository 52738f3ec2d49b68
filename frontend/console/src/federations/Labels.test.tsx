import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Labels } from "./Labels";

const FIGURES = "/api/federations/{id}/labels/";
const NONE = { telling: 0, given: 9, asked: 0, implied: 0, unlabelled: 0, questions: 0, answers: 0 };

beforeEach(() => signedIn());

it("tells the share of samples that are labelled and what it cost", async () => {
  answers("get", FIGURES, {
    telling: 4,
    given: 60,
    asked: 10,
    implied: 5,
    unlabelled: 25,
    questions: 16,
    answers: 12,
  });
  await show(<Labels federation="f" />);
  expect(await screen.findByText("75.0% of 100 samples")).toBeDefined();
  expect(screen.getByText("16, 75.0% answered")).toBeDefined();
});

it("says where labels can be from when all are given", async () => {
  answers("get", FIGURES, NONE);
  await show(<Labels federation="f" />);
  expect(await screen.findByText(/All samples came with their labels/)).toBeDefined();
});
