import { expect, test } from "vitest";
import type { Assignment, Reason } from "../wire/messages";
import { decide, type Facts } from "./decide";

const SIGNED = { manifest: "", signature: "" };
const assignment = (name: string): Assignment => ({
  assignment: name,
  federation: "f",
  round: 1,
  plan: {},
  manifest: SIGNED,
  seed: 1,
  remaining_s: 60,
  stream_index: null,
  budget: null,
  teacher: null,
});
const [MINE, OTHER] = [assignment("a"), assignment("b")];
const because = (code: string): Reason[] => [{ code, sentence: "" }];
const NOTHING: Facts = {
  inHand: null,
  spooled: false,
  answered: true,
  assigned: null,
  stillNamed: null,
  champion: null,
  forms: null,
  blockers: [],
  between: null,
};
const done = (facts: Partial<Facts>): string => decide({ ...NOTHING, ...facts }).do;

test("what is in hand comes first, and is dropped only once the platform has said so", () => {
  expect(done({ inHand: MINE, assigned: MINE })).toBe("train");
  expect(done({ inHand: MINE, answered: false })).toBe("train");
  expect(done({ inHand: MINE })).toBe("drop");
  expect(done({ inHand: MINE, assigned: OTHER })).toBe("drop");
  expect(done({ assigned: MINE, champion: SIGNED })).toBe("accept");
});

test("what has ended here and is named still is given back, before anything else is fetched", () => {
  expect(done({ stillNamed: MINE, champion: SIGNED })).toBe("give-back");
  expect(done({ stillNamed: MINE, inHand: OTHER, assigned: OTHER })).toBe("train");
});

test("an update is offered whatever the platform names, on a battery too, and not without a network", () => {
  expect(done({ inHand: MINE, spooled: true })).toBe("upload");
  expect(done({ inHand: MINE, spooled: true, blockers: because("conditions.on_battery") })).toBe("upload");
  expect(done({ inHand: MINE, spooled: true, blockers: because("conditions.offline") })).toBe("rest");
});

test("nothing trains while a condition is lost, and nothing is fetched without a network", () => {
  expect(done({ inHand: MINE, assigned: MINE, blockers: because("owner.paused") })).toBe("rest");
  expect(done({ champion: SIGNED, blockers: because("conditions.on_battery") })).toBe("fetch");
  expect(done({ champion: SIGNED, blockers: because("conditions.metered") })).toBe("rest");
  expect(done({})).toBe("rest");
});

test("the personal model is trained when nothing else is to be done, and by the same conditions", () => {
  expect(done({ between: "personalise" })).toBe("personalise");
  expect(done({ between: "personalise", blockers: because("conditions.on_battery") })).toBe("rest");
  expect(done({ between: "personalise", champion: SIGNED })).toBe("fetch");
  expect(done({ between: "personalise", inHand: MINE, assigned: MINE })).toBe("train");
  expect(done({ between: "tell-personal", blockers: because("conditions.on_battery") })).toBe("tell-personal");
  expect(done({ between: "tell-personal", blockers: because("conditions.offline") })).toBe("rest");
});

test("what peers are told needs a network alone, and learning batch by batch the same conditions as rounds", () => {
  expect(done({ between: "learn-alone" })).toBe("learn-alone");
  expect(done({ between: "learn-alone", blockers: because("conditions.on_battery") })).toBe("rest");
  expect(done({ between: "tell-peers", blockers: because("owner.paused") })).toBe("tell-peers");
  expect(done({ between: "tell-peers", blockers: because("conditions.offline") })).toBe("rest");
  expect(done({ between: "tell-peers", assigned: MINE })).toBe("accept");
});

test("peers are told between the steps of a round, and an update that is ready comes first", () => {
  const inRound = { between: "tell-peers", inHand: MINE, assigned: MINE } as const;
  expect(done(inRound)).toBe("tell-peers");
  expect(done({ ...inRound, blockers: because("conditions.on_battery") })).toBe("tell-peers");
  expect(done({ ...inRound, blockers: because("conditions.offline") })).toBe("rest");
  expect(done({ ...inRound, spooled: true })).toBe("upload");
  expect(done({ ...inRound, assigned: OTHER })).toBe("drop");
  expect(done({ ...inRound, between: "learn-alone" })).toBe("train");
});

test("smaller forms of the version come after a newer version and before what is between rounds, with a network", () => {
  expect(done({ forms: SIGNED, between: "personalise" })).toBe("take-forms");
  expect(done({ forms: SIGNED, champion: SIGNED })).toBe("fetch");
  expect(done({ forms: SIGNED, inHand: MINE, assigned: MINE })).toBe("train");
  expect(done({ forms: SIGNED, blockers: because("conditions.not_charging") })).toBe("take-forms");
  expect(done({ forms: SIGNED, blockers: because("conditions.offline") })).toBe("rest");
});
