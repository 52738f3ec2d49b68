import { expect, test } from "vitest";
import { goldenJson } from "../../testing/golden";
import type { ModelSpec } from "../../wire/bundle";
import { fromBase64 } from "../../wire/bytes";
import { decodeFloats } from "../../wire/tensors";
import { costOf, epsilonOf, mostOf, pays } from "../accounting";
import { drawnKey, rint, wholeNoise } from "../noise";
import { parseDevicePlan } from "../plan";
import { makeUpdate, NO_STATES } from "../update";

const VECTORS = goldenJson("privacy.json");
const MODEL: ModelSpec = goldenJson("manifest.json").model;
const SECRET = BigInt(VECTORS.secret);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function updateOf(case_: { plan: unknown; received: string; trained: string }, secret: bigint): string {
  const tensors = (text: string) => decodeFloats(fromBase64(text), MODEL.parameters);
  const given = {
    plan: parseDevicePlan(case_.plan),
    model: MODEL,
    states: NO_STATES,
    seed: 2 ** 40 + 17,
    secret,
    classes: [],
    steps: 3,
    loss: null,
  };
  return hex(makeUpdate(tensors(case_.received), tensors(case_.trained), given).payload);
}

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.updates as any[])("under $plan.privacy an update is that of Python, and costs the same", (case_) => {
  expect(updateOf(case_, SECRET)).toBe(hex(fromBase64(case_.payload)));
  const { privacy } = parseDevicePlan(case_.plan);
  expect([privacy.releases, privacy.apart]).toEqual([case_.releases, case_.apart]);
  const cost = privacy.noiseMultiplier === null ? null : costOf(privacy.noiseMultiplier);
  if (case_.cost === null) expect(cost).toBeNull();
  else expect((cost as number) / case_.cost).toBeCloseTo(1, 9);
});

test("under another secret the noise is another", () => {
  const local = VECTORS.updates.find((one: { releases: string }) => one.releases === "updates");
  expect(updateOf(local, SECRET + 1n)).not.toBe(updateOf(local, SECRET));
  expect(drawnKey()).not.toBe(drawnKey());
});

test("noise is that of Python, and normal", () => {
  for (const { name, deviation, numbers } of VECTORS.noise) {
    expect([...wholeNoise(deviation, SECRET, name, 4100).subarray(4090)]).toEqual(numbers);
  }
  const drawn = wholeNoise(1000, SECRET, "moments", 100_000);
  const moment = (power: number): number => drawn.reduce((sum, one) => sum + (one / 1000) ** power, 0) / drawn.length;
  expect(Math.abs(moment(1))).toBeLessThan(0.02);
  expect(Math.abs(moment(2) - 1)).toBeLessThan(0.03);
  expect(Math.abs(moment(4) - 3)).toBeLessThan(0.2);
  expect([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49].map(rint)).toEqual([-2, -2, 0, 0, 2, 2, 0]);
});

test("the account is that of Python", () => {
  for (const { mu2, delta, epsilon } of VECTORS.spent) {
    expect(Math.abs(epsilonOf(mu2, delta) - epsilon)).toBeLessThanOrEqual(1e-7 * epsilon);
  }
  for (const { epsilon, delta, most } of VECTORS.budgets) expect(mostOf(epsilon, delta) / most).toBeCloseTo(1, 8);
  for (const { most, spent, cost, pays: isPaid } of VECTORS.paid) expect(pays(most, spent, cost)).toBe(isPaid);
  expect(epsilonOf(1e9, 1e-6)).toBe(Number.POSITIVE_INFINITY);
});
