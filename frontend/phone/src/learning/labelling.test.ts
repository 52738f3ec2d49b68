import { expect, test } from "vitest";
import { goldenJson } from "../testing/golden";
import { answer, ask, mostUncertain, NOTHING_ASKED, questionsLeft, skip, snooze, undo } from "./labelling";

const VECTORS = goldenJson("labels.json");

test("the sample that is asked about is the one that Python chooses", () => {
  expect(VECTORS.chosen.length).toBeGreaterThan(9);
  for (const { outputs, numbers, how, chosen } of VECTORS.chosen) {
    expect(mostUncertain(numbers, outputs, how)).toBe(chosen);
  }
});

test("as many questions are left as by Python", () => {
  for (const { state, policy, hour, left } of VECTORS.left) {
    expect(questionsLeft(state, policy, { now: VECTORS.now, day: VECTORS.day, hour })).toBe(left);
  }
});

test("what is remembered of a question is what Python remembers", async () => {
  expect(NOTHING_ASKED).toEqual(VECTORS.states[0]);
  const { day } = VECTORS;
  for (const [at, state] of VECTORS.states.entries()) expect(ask(state, 5, day)).toEqual(VECTORS.asked[at]);
  const first = ask(NOTHING_ASKED, 5, day);
  const second = ask(answer(first, 9), 7, day);
  const undone = undo(second, 6);
  const story = [second, undone, skip(undone), first, answer(first, 9), undo(answer(first, 9), 6), skip(first)];
  expect([...story, snooze(first, 1e9)]).toEqual(VECTORS.story);
});
