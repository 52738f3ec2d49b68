import { expect, test } from "vitest";
import { goldenJson } from "../testing/golden";
import type { Dtype, ModelSpec } from "../wire/bundle";
import { middle, planes } from "./pictures";
import { takesOf } from "./takes";
import { type Felt, feltOf, PUT_AWAY_MS, WindowCutter } from "./windows";
import { followings, suggested, typed, Vocabulary } from "./words";

const SPEC: ModelSpec = goldenJson("manifest.json").model;
const LABELS = ["one", "two"];

function taken(
  name: string,
  dtype: Dtype,
  shape: readonly number[],
  labels = LABELS,
  changed: Partial<ModelSpec> = {},
) {
  const output = { name: "logits", dtype: "float32" as const, shape: [2] };
  const inputs = [{ name, dtype, shape: [...shape] }];
  const model: ModelSpec = { ...SPEC, task: "classes", inputs, output, length: undefined, ...changed };
  const { motion, pictures, words } = takesOf({ model, labels });
  return { motion, pictures, words };
}
const NOTHING = { motion: null, pictures: null, words: null };

test("a pair says by its input what it takes", () => {
  expect(taken("acceleration", "float32", [3, 128])).toEqual({ ...NOTHING, motion: { steps: 128 } });
  const pictures = { channels: 3, height: 16, width: 20 };
  expect(taken("picture", "float32", [3, 16, 20])).toEqual({ ...NOTHING, pictures });
  expect(taken("words", "int64", [5])).toEqual({ ...NOTHING, words: { before: 5 } });
});

test.each([
  ["x", "float32", [3, 128]],
  ["acceleration", "float32", [128, 3]],
  ["acceleration", "float32", [3, 0]],
  ["acceleration", "int64", [3, 128]],
  ["picture", "float32", [2, 16, 16]],
  ["picture", "float32", [16, 16]],
  ["words", "float32", [5]],
] as const)("an input %s %s %j takes no data of the phone's own", (name, dtype, shape) => {
  expect(taken(name, dtype, shape)).toEqual(NOTHING);
});

test("words are taken only where every class is called after one, and nothing without classes", () => {
  expect(taken("words", "int64", [5], ["one"])).toEqual(NOTHING);
  expect(taken("picture", "float32", [1, 2, 2], LABELS, { task: "values" })).toEqual(NOTHING);
  expect(takesOf({ model: { ...SPEC, task: "classes" }, labels: [] }).classes[0]).toBe("class 0");
});

/** What is felt `hertz` times a second from `from` until `to`, in milliseconds; along x the time itself, in seconds. */
function feel(cutter: WindowCutter, from: number, to: number, hertz = 60): Float32Array[] {
  const found: Float32Array[] = [];
  for (let at = from; at <= to; at += 1000 / hertz) found.push(...cutter.feel({ at, g: [at / 1000, 0, 1] }));
  return found;
}

test("windows are resampled to 50 Hz, one after the other, without the first and the last seconds", () => {
  const [steps, begin] = [128, 1000];
  const window_ms = (steps * 1000) / 50;
  const ends = begin + PUT_AWAY_MS + 3 * window_ms + PUT_AWAY_MS;
  const found = feel(new WindowCutter(steps), begin, ends);
  expect(found).toHaveLength(3);
  for (const [number, window] of found.entries()) {
    expect(window).toHaveLength(3 * steps);
    for (let step = 0; step < steps; step += 1) {
      expect(window[step]).toBeCloseTo((begin + PUT_AWAY_MS + number * window_ms + step * 20) / 1000, 4);
    }
    expect(window.subarray(steps, 2 * steps).every((one) => one === 0)).toBe(true);
    expect(window.subarray(2 * steps).every((one) => one === 1)).toBe(true);
  }
  expect(feel(new WindowCutter(steps), begin, ends - PUT_AWAY_MS - 100)).toHaveLength(1);
});

test("where the page was hidden a new recording begins, and the window that was open is dropped", () => {
  const cutter = new WindowCutter(50);
  expect(feel(cutter, 0, 6500)).toHaveLength(0);
  expect(feel(cutter, 60_000, 60_000 + PUT_AWAY_MS)).toHaveLength(0);
  const found = feel(cutter, 60_000 + PUT_AWAY_MS + 16, 60_000 + 2 * PUT_AWAY_MS + 1100);
  expect(found).toHaveLength(1);
  expect(found[0]?.[0]).toBeCloseTo(65, 3);
  expect(cutter.feel({ at: 0, g: [0, 0, 0] })).toHaveLength(0);
});

test("acceleration is in g, and Apple's sign is turned", () => {
  const flat = { x: 0, y: 0, z: 9.80665 };
  expect(feltOf(5, flat, false)).toEqual({ at: 5, g: [0, 0, 1] } satisfies Felt);
  expect(feltOf(5, { ...flat, z: -9.80665 }, true)?.g[2]).toBe(1);
  expect(feltOf(5, { ...flat, x: null }, false)).toBeNull();
  expect(feltOf(5, null, false)).toBeNull();
});

test("pictures are cut in their middle and laid out channel by channel", () => {
  expect(middle(400, 300, { channels: 3, height: 16, width: 16 })).toEqual([50, 0, 300, 300]);
  expect(middle(300, 400, { channels: 3, height: 10, width: 20 })).toEqual([0, 125, 300, 150]);
  const points = Uint8ClampedArray.of(255, 0, 51, 255, 0, 255, 102, 255);
  expect([...planes(points, { channels: 3, height: 1, width: 2 })].map((one) => Number(one.toFixed(4)))).toEqual([
    1, 0, 0, 1, 0.2, 0.4,
  ]);
  const grey = planes(points, { channels: 1, height: 1, width: 2 });
  expect(grey[0]).toBeCloseTo(0.299 + 0.2 * 0.114, 6);
  expect(grey[1]).toBeCloseTo(0.587 + 0.4 * 0.114, 6);
});

test("text becomes the samples that the recipe's reader makes of it", () => {
  const { labels, before, texts } = goldenJson("words.json");
  const vocabulary = new Vocabulary(labels);
  for (const { text, samples } of texts) {
    const found = followings(text, vocabulary, before).samples;
    expect(found.map(({ x, label }) => ({ x: [...x], label }))).toEqual(samples);
  }
  expect(followings("the cat and the dog", vocabulary, before).unknown).toBe(2);
});

test("the next word goes on from the letters that are there", () => {
  const words = ["<unknown>", "the", "house", "hour", "is"];
  const vocabulary = new Vocabulary(words);
  expect(typed("Is it. The ho", vocabulary, 2)).toEqual({ x: Float32Array.of(0, 1), begun: "ho" });
  expect(typed("the house is ", vocabulary, 2)).toEqual({ x: Float32Array.of(2, 4), begun: "" });
  expect(typed("", vocabulary, 2)).toEqual({ x: Float32Array.of(0, 0), begun: "" });
  expect(suggested([9, 1, 2, 3, 0], words, "", 3)).toEqual(["hour", "house", "the"]);
  expect(suggested([9, 1, 2, 3, 0], words, "HO", 1)).toEqual(["hour"]);
  expect(suggested([9, 1, 2, 3, 0], words, "x", 3)).toEqual([]);
});
