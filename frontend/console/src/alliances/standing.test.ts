import { expect, it } from "vitest";
import type { Pair } from "../models/queries";
import { whyNot } from "./BeginForm";
import { type Alliance, halvesIn } from "./queries";
import { commandFor, gainOf, protectionOf, stepsOf, worthOf } from "./standing";

const alliance = (facts: object) =>
  ({
    state: "working",
    common: 0,
    epoch: 0,
    accuracy: null,
    alone: null,
    terms: { epochs: 20 },
    parties: [{ joined_at: "2026-01-01T00:00:00Z" }, { joined_at: null }],
    ...facts,
  }) as unknown as Alliance;

it("says how far each part of the way is", () => {
  expect(stepsOf(alliance({})).map(({ detail, done }) => [detail, done])).toEqual([
    ["1 of 2 have agreed", 0.5],
    ["not known yet", 0],
    ["0 of 20 epochs", 0],
    ["after the last epoch", 0],
  ]);
  const [, known, training] = stepsOf(alliance({ common: 1500, epoch: 5 }));
  expect([known?.detail, known?.done]).toEqual(["1,500 people, found by private set intersection", 1]);
  expect(training?.done).toBe(0.25);
  expect(stepsOf(alliance({ state: "finished", epoch: 20 })).at(-1)?.done).toBe(1);
});

it("says whether it pays, also where it does not", () => {
  expect(gainOf(alliance({ accuracy: 0.7 }))).toBeNull();
  expect(worthOf(alliance({ accuracy: 0.7 }))).toContain("has not told yet");
  expect(worthOf(alliance({ accuracy: 0.7, alone: 0.5 }))).toContain("worth 20 points");
  expect(worthOf(alliance({ accuracy: 0.5, alone: 0.525 }))).toContain("does not pay so far");
});

it("says when labels are not hidden", () => {
  expect(protectionOf(0)).toMatch(/^None/);
  expect(protectionOf(2)).toContain("not proven");
});

it("asks the party with labels for them, and fills in nobody's key", () => {
  expect(commandFor("a-1", "labels")).toContain("--label COLUMN");
  expect(commandFor("a-1", "columns")).not.toContain("--label");
  expect(commandFor("a-1", "columns")).toContain("--partner KEY ");
});

it("finds halves among pairs by their recipes", () => {
  const pair = (name: string, recipe: object, version: string | null = "v") =>
    ({ name, recipe, device_champion: version }) as unknown as Pair;
  const { lower, upper } = halvesIn([
    pair("lower", { loss: { kind: "given_gradient" }, cut: "" }),
    pair("untrained", { loss: { kind: "given_gradient" } }, null),
    pair("upper", { loss: { kind: "cross_entropy" }, cut: "beside" }),
    pair("whole", { loss: { kind: "cross_entropy" }, cut: "" }),
  ]);
  expect([lower, upper].map((found) => found.map(({ name }) => name))).toEqual([["lower"], ["upper"]]);
});

it("says what is lacking before it is begun", () => {
  const halves = { lower: [{ name: "l", version: "1" }], upper: [{ name: "u", version: "2" }] };
  const given = {
    name: "two",
    columnsDevice: "a",
    columnsVersion: "1",
    labelsDevice: "b",
    labelsVersion: "2",
    epochs: 20,
  };
  expect(whyNot(given, halves)).toBeUndefined();
  expect(whyNot({ ...given, name: " " }, halves)).toBe("Give it a name.");
  expect(whyNot({ ...given, labelsDevice: "a" }, halves)).toContain("of two devices");
  expect(whyNot({ ...given, labelsVersion: null }, halves)).toBe("Choose both halves of the network.");
  expect(whyNot({ ...given, epochs: "" }, halves)).toBe("Fill in every number.");
  expect(whyNot(given, { ...halves, lower: [] })).toContain("no lower half");
});
