import { expect, test } from "vitest";
import { goldenJson, statesOf } from "../testing/golden";
import { type ModelSpec, verifyManifest } from "../wire/bundle";
import { fromBase64, toBase64 } from "../wire/bytes";
import { decodeFloats, encodeTensors, type Tensors } from "../wire/tensors";
import { encodeState } from "./device_state";
import { TrainedPart } from "./heads";
import { PLAIN, WHOLE } from "./local/interface";
import { split } from "./order";
import { parseDevicePlan } from "./plan";
import { modelOf, partsOfTeacher, restoreWeights, storedProbabilities, taught, verifyTeacher } from "./teacher";
import { makeUpdate } from "./update";

const VECTORS = goldenJson("distill.json");
const MODEL: ModelSpec = VECTORS.model;
const tensors = (text: string): Tensors => decodeFloats(fromBase64(text), MODEL.parameters);
const text = (some: Tensors): string => toBase64(encodeTensors(some));

test("the share that is held out is Python's", () => {
  for (const { ids, share, held_out } of VECTORS.splits) expect(split(ids, share).heldOut).toEqual(held_out);
  expect(VECTORS.splits).toHaveLength(4);
});

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.parts as any[])(
  "head $head, body $body, classes $seen: the part that is trained is Python's, bit for bit",
  (one) => {
    const scope = { ...WHOLE, head: one.head, body: one.body };
    const part = TrainedPart.ofDevice(MODEL, scope, one.seen);
    expect(part.classes).toEqual(one.classes);
    expect([...part.kept(PLAIN, 1)(0)].sort()).toEqual(one.frozen);
    const begun = part.begin(tensors(one.received));
    expect(text(begun)).toBe(one.begun);
    expect(text(part.end(begun, tensors(one.trained)))).toBe(one.ended);
    const later = TrainedPart.ofDevice(MODEL, scope, [...new Set([...one.seen, 1])].sort());
    expect(text(later.goOn(begun, tensors(one.trained)))).toBe(one.gone_on);
  },
);

// biome-ignore lint/suspicious/noExplicitAny: as above
test.each(VECTORS.updates as any[])(
  "under $plan.local an update of classes $classes is Python's, bit for bit",
  (one) => {
    const made = makeUpdate(tensors(one.received), tensors(one.trained), {
      plan: parseDevicePlan(one.plan),
      model: MODEL,
      states: statesOf(one.state),
      seed: one.seed,
      secret: 0n,
      classes: one.classes,
      steps: 3,
      loss: null,
    });
    expect(toBase64(made.payload)).toBe(one.payload);
    expect(toBase64(encodeState(made.states.codec))).toBe(one.state_after);
  },
);

test("what a plan says of learning from the cloud model is read as by Python", () => {
  const { local } = parseDevicePlan(VECTORS.updates.at(-1).plan);
  const scalars = {
    learning_rate: 0.1,
    momentum: 0.5,
    weight_decay: 0,
    clip_norm: Number.POSITIVE_INFINITY,
    proximal_weight: 0,
  };
  expect(local).toMatchObject({
    epochs: 7,
    scalars: { ...scalars, distillation_weight: 0.75 },
    betweenRounds: { epochs: 1, scalars: { ...scalars, distillation_weight: 0 } },
    scope: { head: "seen", body: "trained" },
    stopping: { patience: 2, share: 0.2 },
    periodS: 129_600,
    trainsPersonalModel: true,
    needsTeacher: true,
  });
  const alone = parseDevicePlan({ ...VECTORS.updates[0].plan, local: { kind: "distill", lambda_d: 1 } });
  expect(alone.local.needsTeacher).toBe(false);
});

test("a teacher's weights are restored as by Python", () => {
  const { parameters, content, restored } = VECTORS.weights;
  const found = restoreWeights(fromBase64(content), parameters);
  expect(text(found)).toBe(restored);
  const wrong = [{ ...parameters[0], dtype: "int8" }];
  expect(() => restoreWeights(fromBase64(content), wrong)).toThrow(/of a teacher is int8/);
});

test("a teacher's answers are stored and taught as by Python", () => {
  for (const { logits, classes, stored, taught: targets } of VECTORS.answers) {
    const found = (logits as number[][]).map(storedProbabilities);
    expect(found.map((row) => [...row])).toEqual(stored);
    const numbers = taught(found, classes);
    for (const [at, target] of (targets as number[][]).flat().entries()) {
      expect(Math.abs((numbers[at] as number) - target)).toBeLessThanOrEqual(2 ** -24);
    }
  }
});

test("numbers of half precision come back, and between two the even one is taken", () => {
  const bits = Array.from({ length: 0x3c01 }, (_, at) => at);
  const numbers = taught([Uint16Array.from(bits)], []);
  expect([numbers[0], numbers[1], numbers[0x3c00]]).toEqual([0, 2 ** -24, 1]);
  for (let at = 1; at < bits.length; at++) expect(numbers[at] as number).toBeGreaterThan(numbers[at - 1] as number);
});

test("the platform's teacher verifies, and must take the model's samples and know its classes", () => {
  const { teacher } = goldenJson("Directive.json").assignment;
  const key = fromBase64(goldenJson("Enrolled.json").platform_key);
  const found = verifyTeacher(teacher, key);
  expect(found.version).toBe("c-2");
  expect(partsOfTeacher(found).map(({ size_bytes }) => size_bytes)).toEqual([13, 13]);
  expect(() => verifyTeacher({ ...teacher, signature: "" }, key)).toThrow(/not signed/);
  expect(() => verifyManifest(teacher, key)).toThrow();
  expect(modelOf(found, MODEL).output.shape).toEqual([3]);
  for (const wrong of [{ classes: 4 }, { inputs: [] }]) {
    expect(() => modelOf({ ...found, ...wrong }, MODEL)).toThrow(/other samples, or knows other classes/);
  }
  expect(() => modelOf(found, { ...MODEL, task: "values" })).toThrow();
});
