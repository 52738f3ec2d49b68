import * as v from "valibot";
import { expect, test } from "vitest";
import { shareProfile } from "../../device/sharing";
import { goldenJson } from "../../testing/golden";
import { ModelSpec } from "../../wire/bundle";
import { fromBase64, sha256Hex } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import { decodeFloats, encodeTensors, type Tensors } from "../../wire/tensors";
import { parseDevicePlan } from "../plan";
import { decodePortion, encodePortion, mergePortion, termsOf, withPortions } from "../portions/payload";
import { jensenShannon } from "../profile";
import { noised, sampleNoise } from "../profile_noise";
import { judge } from "../verdict";
import { asked, asksFor, begunWatch, isDrifting, isReportDue, reportOf, requestOf, watched } from "../watch";
import type { HelpRules } from ".";

const VECTORS = goldenJson("help.json");
/** Of a profile, what is as here is left out. */
const UNSAID = { classes: [], counts: [], hits: null, drifting: false, willing: true, noise: null };
const SECRET = BigInt(VECTORS.secret);
const rulesOf = (plan: unknown): HelpRules => parseDevicePlan(plan).help as HelpRules;
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof CodedError ? error.code : `${error}`;
  }
  return "no error";
};

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.watches as any[])("under plan %# a device asks and tells as in Python, batch by batch", (given) => {
  const rules = rulesOf(given.plan);
  let watch = begunWatch(rules, given.classes);
  let [drifted, requests, told] = [0, 0, 0];
  for (const batch of given.batches) {
    watch = watched(watch, rules, batch.labels, batch.predicted);
    expect(watch.drift).toEqual(batch.drift);
    expect(isDrifting(watch)).toBe(batch.drifting);
    expect(asksFor(watch, rules)).toEqual(batch.asks_for);
    drifted += Number(batch.drifting);
    if (batch.asks_for.length > 0) {
      const { classes, counts } = requestOf(watch, rules, SECRET);
      expect({ classes, ...counts }).toEqual(batch.request);
      watch = asked(watch);
      requests += 1;
    }
    expect(isReportDue(watch, rules)).toBe(batch.told !== undefined);
    if (batch.told !== undefined) {
      const report = reportOf(watch, rules, SECRET);
      expect(report.told).toEqual(batch.told);
      watch = report.after;
      told += 1;
    }
  }
  const { profile, batchesUnreported, batchesQuiet, batchesDrifted } = watch;
  expect({
    profile: profile.batches,
    batches_unreported: batchesUnreported,
    batches_quiet: batchesQuiet,
    batches_drifted: batchesDrifted,
  }).toEqual(given.end);
  expect(Math.min(drifted, requests, told), "a vector in which nothing happens shows nothing").toBeGreaterThan(0);
});

test("a batch that is none is refused", () => {
  const [{ plan, classes }] = VECTORS.watches;
  const rules = rulesOf(plan);
  const begun = begunWatch(rules, classes);
  expect(() => watched(begun, rules, [], [])).toThrow(RangeError);
  expect(() => watched(begun, rules, [classes], [0])).toThrow(RangeError);
  expect(() => rules.detector.observe(rules.detector.begin(), 3, 2)).toThrow(RangeError);
  expect(() => judge([], [], [])).toThrow(RangeError);
});

test("hyperparameters that are none, or contradict one another, are refused", () => {
  for (const plan of VECTORS.faults) expect(codeOf(() => parseDevicePlan(plan))).toMatch(/^plan\./);
  expect(VECTORS.faults.length).toBeGreaterThan(0);
});

test("noise on a profile is drawn and counted as in Python", () => {
  for (const { plan, samples, wrong, told, delta, epsilon } of VECTORS.noise) {
    const rules = rulesOf(plan);
    expect(noised({ samples, wrong }, rules.noiseMultiplier, SECRET)).toEqual(told);
    expect(sampleNoise(rules, delta)?.epsilon).toBeCloseTo(epsilon, 7);
  }
  expect(sampleNoise(rulesOf(VECTORS.watches[0].plan), 1e-6)).toBeNull();
});

test("a profile tells what the owner allows", () => {
  for (const { samples, wrong, tell, profile } of VECTORS.profiles) {
    const told = { batch: 7, drifting: true, willing: true, noise: null };
    expect(shareProfile({ samples, wrong }, tell, told)).toEqual({ ...UNSAID, ...profile });
  }
  expect(VECTORS.profiles).toHaveLength(12);
});

test("how far class shares have moved, and which model is better, is computed as in Python", () => {
  for (const { p, q, bits } of VECTORS.divergences) expect(jensenShannon(p, q)).toBeCloseTo(bits, 9);
  const kept = new Set<boolean>();
  for (const { labels, before, after, judgement } of VECTORS.verdicts) {
    expect(judge(labels, before, after)).toEqual(judgement);
    kept.add(judgement.kept);
  }
  expect(kept).toEqual(new Set([true, false]));
});

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
type Json = any;
const PORTIONS = (VECTORS.portions as Json[]).flatMap(({ given, ...of }) =>
  given.map((one: Json) => ({ ...of, ...one })),
);

test.each(PORTIONS)(
  "$name of classes $classes: the portion and what is merged are those of Python, bit for bit",
  (one) => {
    const model = v.parse(ModelSpec, one.model);
    const [helper, target] = [one.helper, one.target].map((text) => decodeFloats(fromBase64(text), model.parameters));
    const terms = termsOf(parseDevicePlan(one.plan), model, one.classes);
    const payload = encodePortion(terms, helper as Tensors, { seed: one.seed, secret: SECRET });
    expect(Buffer.from(payload).toString("base64")).toBe(one.payload);
    const merged = mergePortion(terms, target as Tensors, decodePortion(terms, payload), one.known);
    expect(hashOf(merged)).toBe(one.merged);
    const kept = { transfer: "t", plan: one.plan, classes: one.classes, payload };
    expect(hashOf(withPortions(target as Tensors, model, [kept, kept], one.known))).toBe(one.merged_twice);
  },
);

test("a portion that is not what was agreed is refused, and left out of the next round", () => {
  const [rows, coded] = [PORTIONS[0], PORTIONS.find(({ name }) => name === "rows in int8")];
  const model = v.parse(ModelSpec, rows.model);
  const target = decodeFloats(fromBase64(rows.target), model.parameters);
  const [terms, payload] = [termsOf(parseDevicePlan(rows.plan), model, rows.classes), fromBase64(rows.payload)];
  const notFinite = payload.slice();
  notFinite.set(new Uint8Array(Float32Array.of(Number.NaN).buffer), payload.length - 4);
  for (const [bytes, code] of [
    [payload.subarray(0, -4), "update.malformed"],
    [fromBase64(coded.payload), "update.wrong_codec"],
    [notFinite, "update.not_finite"],
    [fromBase64(PORTIONS[1].payload), "update.wrong_shape"],
  ] as const) {
    expect(codeOf(() => decodePortion(terms, bytes))).toBe(code);
    const kept = { transfer: "t", plan: rows.plan, classes: rows.classes, payload: bytes };
    expect(withPortions(target, model, [kept], rows.known)).toBe(target);
  }
  const plan = parseDevicePlan(rows.plan);
  for (const classes of [[], [5], [1, 0], [1, 1], [-1]]) {
    expect(codeOf(() => termsOf(plan, model, classes))).toBe("portion.unknown_class");
  }
  expect(codeOf(() => termsOf({ ...plan, help: null }, model, [0]))).toBe("portion.unsupported");
  expect(codeOf(() => encodePortion(terms, target, { seed: 1, secret: 0n }))).toBe("no error");
  const headless = { ...terms, model: { ...model, head: null } };
  expect(codeOf(() => encodePortion(headless, target, { seed: 1, secret: 0n }))).toBe("portion.unsupported");
});

const hashOf = (tensors: Tensors): string => sha256Hex(encodeTensors(tensors));
