import { expect, test } from "vitest";
import { goldenJson, nativeRound } from "../../testing/golden";
import type { ModelSpec } from "../../wire/bundle";
import { fromBase64 } from "../../wire/bytes";
import { decodeFloats, type Tensors } from "../../wire/tensors";
import { parseDevicePlan } from "../plan";
import { choose, isDue, personalTraining, seedOf, stillAnswers } from "./training";

const VECTORS = goldenJson("personal.json");
const NATIVE = nativeRound();
const MODEL: ModelSpec = { ...NATIVE.model, own_loss: undefined, length: undefined };
const RECEIVED = decodeFloats(fromBase64(NATIVE.received), MODEL.parameters);

test("a plan's rules for the personal model are those of Python", () => {
  for (const { plan, rules } of VECTORS.rules) {
    const found = parseDevicePlan(plan).personal;
    if (rules === null) {
      expect(found).toBeNull();
      continue;
    }
    const { epochs, steps, patience, again_share, starts_from, scalars } = rules;
    const clip_norm = scalars.clip_norm ?? Number.POSITIVE_INFINITY;
    const [againShare, startsFrom] = [again_share, starts_from];
    expect(found).toEqual({ epochs, steps, patience, againShare, startsFrom, scalars: { ...scalars, clip_norm } });
  }
  expect(VECTORS.rules).toHaveLength(7);
});

test("when it is trained, and in which order, is decided as by Python", () => {
  for (const { ids, trained_up_to, again_share, due } of VECTORS.due) {
    expect(isDue(ids, trained_up_to, again_share)).toBe(due);
  }
  for (const { version, newest, seed } of VECTORS.seeds) expect(seedOf(version, newest)).toBe(seed);
});

test("which model answers is decided as by Python", () => {
  const seen = new Set<string>();
  for (const { figures, unless_worse, answers, stays } of VECTORS.choices) {
    const [version, trained, before] = figures;
    expect(choose(version, trained, before, unless_worse).answers).toBe(answers);
    expect(before === null ? null : stillAnswers(before, version)).toBe(stays);
    seen.add(answers);
  }
  expect(seen).toEqual(new Set(["version", "trained", "personal model"]));
});

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.stopping as any[])("it stops early as in Python: patience $patience", async (given) => {
  const plan = parseDevicePlan(NATIVE.personal.plan);
  const rules = { ...(plan.personal as NonNullable<typeof plan.personal>), patience: given.patience };
  const ids = Array.from({ length: 12 }, (_, at) => at + 1);
  const marked = (mark: number): Tensors =>
    new Map(MODEL.parameters.map((spec) => [spec.name, { ...zeros(spec.shape), data: filled(spec.shape, mark) }]));
  const fixed = { rules, model: MODEL, received: RECEIVED, personal: null, frozen: new Map(), ids, seed: 1 };
  const training = personalTraining(fixed, () => Promise.reject(new Error("no step is taken")));
  let best = -1;
  for (const [at, loss] of given.losses.entries()) {
    training.judged(marked(at), loss ?? Number.NaN);
    if (given.best[at]) best = at;
    if (best >= 0) expect(training.trained()).toEqual(marked(best));
    expect(training.wanted() === null).toBe(given.over[at]);
  }
});

const filled = (shape: readonly number[], value: number): Float32Array =>
  new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(value);
const zeros = (shape: readonly number[]) => ({ dtype: "float32" as const, shape, data: filled(shape, 0) });
