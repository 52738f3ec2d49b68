import { expect, it } from "vitest";
import type { Run } from "./queries";
import { kindsOf, variedOf } from "./varied";

function run(id: string, fleet: string, rate: number, seed: number): Pick<Run, "id" | "fleet" | "wanted"> {
  const plan = { local: { kind: "sgd", learning_rate: rate, epochs: 5 } };
  return { id, fleet, wanted: { plan, seed, rounds: 20, evaluate_every: 1 } };
}

it("tells runs of a sweep by what differs within it", () => {
  const varied = variedOf([run("1", "a", 0.1, 0), run("2", "a", 0.3, 0), run("3", "a", 0.1, 1), run("4", "b", 0.5, 7)]);
  expect([...varied]).toEqual([
    ["1", "learning rate 0.1, seed 0"],
    ["2", "learning rate 0.3, seed 0"],
    ["3", "learning rate 0.1, seed 1"],
    ["4", ""],
  ]);
});

it("tells what one has and another has not", () => {
  const more = run("2", "a", 0.1, 0);
  const without = { ...more, id: "1", wanted: { ...more.wanted, plan: { local: { kind: "sgd", epochs: 5 } } } };
  expect([...variedOf([more, without]).values()]).toEqual(["learning rate 0.1", "learning rate –"]);
});

it("names a plan by its kinds", () => {
  expect(kindsOf({ local: { kind: "sgd" }, merge: { kind: "fed_avg" }, help: { kind: "none" } })).toBe("SGD, FedAvg");
});
