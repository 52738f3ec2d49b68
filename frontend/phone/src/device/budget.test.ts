import { expect, test } from "vitest";
import { pays } from "../learning/accounting";
import { PRIVACY } from "../learning/privacy";
import { code } from "../testing/failing";
import type { Assignment } from "../wire/messages";
import { Budget, partOf } from "./budget";
import type { OwnerChoices, PrivacyChoices } from "./choices";
import type { Promised, StreamPart, Told } from "./kept";
import type { Store } from "./store";

/** What `Store` keeps of privacy, in memory: IndexedDB is the browser's. */
class Kept {
  readonly told = new Map<string, Told>();
  readonly promises = new Map<string, Promised>();
  parts: StreamPart[] = [];

  constructor(private readonly privacy?: PrivacyChoices) {}

  async get(): Promise<Partial<OwnerChoices>> {
    return this.privacy === undefined ? {} : { privacy: this.privacy };
  }

  async spent(): Promise<number> {
    return [...this.told.values()].reduce((sum, { mu2 }) => sum + mu2, 0);
  }

  async spentByFederation(): Promise<ReadonlyMap<string, number>> {
    return new Map([...this.told.values()].map(({ federation, mu2 }) => [federation, mu2]));
  }

  async charge(told: Told, most: number): Promise<boolean> {
    if (this.told.has(told.release)) return true;
    if (!pays(most, await this.spent(), told.mu2)) return false;
    this.told.set(told.release, told);
    return true;
  }

  async latestPart({ assignment }: StreamPart): Promise<number | null> {
    const others = this.parts.filter((one) => one.assignment !== assignment);
    return others.length === 0 ? null : Math.max(...others.map(({ number }) => number));
  }

  async promised(federation: string): Promise<Promised | null> {
    return this.promises.get(federation) ?? null;
  }

  async promise(promised: Promised): Promise<void> {
    this.promises.set(promised.federation, promised);
  }

  async raised(): Promise<Promised[]> {
    return [...this.promises.values()].filter(({ asked }) => asked !== null);
  }
}

const budgetOf = (kept: Kept): Budget => new Budget(kept as unknown as Store);
const LOCAL = PRIVACY.parse({ kind: "local_noise" });
const STREAM = PRIVACY.parse({ kind: "correlated_noise", noise_multiplier: 100, separation_rounds: 4 });
const ASSIGNMENT: Assignment = {
  assignment: "a",
  federation: "f",
  round: 1,
  plan: {},
  manifest: { manifest: "", signature: "" },
  seed: 1,
  remaining_s: 60,
  stream_index: null,
  budget: null,
  teacher: null,
};

test("each update is charged once, and none that the owner's budget does not pay for", async () => {
  const kept = new Kept();
  const budget = budgetOf(kept);
  for (const hash of ["one", "one", "two"]) await budget.charge(ASSIGNMENT, LOCAL, hash);
  expect(kept.told.size).toBe(2); // trained anew it is another update, which tells something by itself
  const told = await budget.told();
  expect(told.epsilon).toBeCloseTo(7.3, 1);
  expect(await code(budget.charge(ASSIGNMENT, LOCAL, "three"))).toBe("privacy.device_budget");
  expect(await code(budget.check(ASSIGNMENT, LOCAL))).toBe("privacy.device_budget");
  expect(await code(budget.check(ASSIGNMENT, PRIVACY.parse({ kind: "clip" })))).toBe("no error");
  const nothing = budgetOf(new Kept({ epsilon: 0, delta: 1e-6, raised: "accept" }));
  expect(await code(nothing.check(ASSIGNMENT, LOCAL))).toBe("privacy.device_budget");
});

test("parts of a stream are as far apart as the plan says", async () => {
  const kept = new Kept();
  const check = (stream_index: number | null): Promise<string> =>
    code(budgetOf(kept).check({ ...ASSIGNMENT, stream_index }, STREAM));
  expect(await check(null)).toBe("privacy.not_numbered");
  expect(await check(7)).toBe("no error");
  const part = partOf({ ...ASSIGNMENT, assignment: "before", stream_index: 7 }, STREAM) as StreamPart;
  expect(part).toMatchObject({ apart: 4, number: 7 });
  kept.parts = [part];
  expect(await Promise.all([5, 7, 8, 10, 11].map(check))).toEqual([
    "privacy.too_soon",
    "no error", // of a round that came to nothing
    "privacy.too_soon",
    "privacy.too_soon",
    "no error",
  ]);
});

test("a budget that was raised waits for the owner's word, where the owner wants to be asked", async () => {
  const small = { ...ASSIGNMENT, budget: { epsilon: 4, delta: 1e-6 } };
  const large = { ...ASSIGNMENT, budget: { epsilon: 8, delta: 1e-6 } };
  const asking = new Kept({ epsilon: 100, delta: 1e-6, raised: "ask" });
  const budget = budgetOf(asking);
  expect(await code(budget.agree("f"))).toBe("privacy.nothing_asked");
  expect(await code(budget.check(small, LOCAL))).toBe("no error");
  expect(await code(budget.check(large, LOCAL))).toBe("privacy.budget_raised");
  expect((await budget.told()).raised).toMatchObject([{ federation: "f" }]);
  expect(await code(budget.check(small, LOCAL))).toBe("no error");
  expect((await budget.told()).raised).toEqual([]);
  expect(await code(budget.check(large, LOCAL))).toBe("privacy.budget_raised");
  await budget.keepOnly(["others"]); // the federation has ended
  expect((await budget.told()).raised).toEqual([]);
  expect(await code(budget.check(large, LOCAL))).toBe("privacy.budget_raised"); // what was agreed to stays
  await budget.keepOnly(["f"]);
  expect(await budget.agree("f")).toEqual(large.budget);
  expect(await code(budget.check(large, LOCAL))).toBe("no error");
  const accepting = budgetOf(new Kept());
  for (const one of [small, large]) expect(await code(accepting.check(one, LOCAL))).toBe("no error");
});
