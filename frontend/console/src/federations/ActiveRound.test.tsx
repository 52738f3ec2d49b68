import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { ActiveRound } from "./ActiveRound";
import type { Round } from "./queries";

const ROUND = { id: 7, number: 3, federation: "f", state: "open", reason_code: "", deadline_at: null } as Round;

it("counts devices as the round's reason does: those at work by what they say that they do", async () => {
  const assignments = [
    { state: "delivered", stage: "uploading" },
    { state: "accepted", stage: "training" },
    { state: "accepted", stage: "training" },
    { state: "accepted", stage: "accepted" },
    { state: "offered", stage: "" },
  ];
  answers("get", "/api/rounds/{id}/", () => ({ ...ROUND, assignments }) as never);
  await show(<ActiveRound round={ROUND} />);
  for (const part of ["1 delivered", "2 training", "1 accepted", "1 invited"]) {
    expect(await screen.findByLabelText(part)).toBeDefined();
  }
});
