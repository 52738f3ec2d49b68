/** The cloud model is asked once about each sample, and goes on where it was stopped. */
import { IDBFactory } from "fake-indexeddb";
import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import type { Teacher } from "../learning/teacher";
import { nativeRound } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64 } from "../wire/bytes";
import { Store } from "./store";
import { Teaching } from "./teaching";

const NATIVE = nativeRound();
const MODEL: ModelSpec = { ...NATIVE.model, own_loss: undefined, length: undefined };
const PARTS: Readonly<Record<string, Uint8Array>> = {
  graph: fromBase64(NATIVE.predict),
  weights: fromBase64(NATIVE.distill.weights),
};
const refOf = (sha256: string) => ({ sha256, size_bytes: PARTS[sha256]?.length ?? 0 });
const teacherOf = (version: string): Teacher => ({
  protocol: 1,
  pair: "pair",
  version,
  inputs: MODEL.inputs,
  classes: 3,
  parameters: MODEL.parameters,
  predict: refOf("graph"),
  weights: refOf("weights"),
});

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

async function filled(): Promise<Store> {
  const store = await Store.open();
  const samples = NATIVE.x.map((x: number[], at: number) => ({
    x: Float32Array.from(x),
    label: NATIVE.y[at],
    target: new Float32Array(),
  }));
  await store.addSamples(samples);
  return store;
}

function teachingOf(store: Store, version: string, free: number | null = null) {
  const done = { fetched: 0, dropped: [] as string[] };
  const teaching = new Teaching({
    teacher: teacherOf(version),
    store: Object.assign(store, {
      dropBlobs: async (...hashes: string[]) => void done.dropped.push(...hashes),
    }),
    part: async (sha256) => PARTS[sha256] as Uint8Array,
    fetch: async () => {
      done.fetched += 1;
      return true;
    },
    ownParts: new Set(["graph"]),
    free: async () => free,
  });
  return { teaching, done };
}

const never = (): boolean => false;

test("each sample is asked about once, until another cloud model comes", async () => {
  const store = await filled();
  const ids = await store.sampleIds();
  const { teaching, done } = teachingOf(store, "c1");
  let asked = 0;
  expect(await teaching.ask(ids, MODEL, () => ++asked > 1), "it is stopped after the first batch").toBe(false);
  expect((await store.unasked("c1", ids)).length).toBe(ids.length - 32);
  expect(await teaching.ask(ids, MODEL, never)).toBe(true);
  expect(await teaching.ask(ids, MODEL, never)).toBe(true);
  expect(done).toEqual({ fetched: 2, dropped: [] });
  const found = await teaching.probabilities([3, 1], [0, 2]);
  expect([found.length, found[1], found[4]]).toEqual([6, 0, 0]);
  expect((found[0] as number) + (found[2] as number)).toBeCloseTo(1, 6);
  const other = teachingOf(store, "c2");
  expect(await other.teaching.ask(ids.slice(0, 5), MODEL, never)).toBe(true);
  expect(await store.unasked("c2", ids)).toEqual(ids.slice(5));
  expect(await store.taught("c1", 7)).toBeNull();
});

test("a sample without an answer is taught as uniform, and none is kept of one that has gone", async () => {
  const store = await filled();
  const { teaching } = teachingOf(store, "c1");
  expect([...(await teaching.probabilities([1], [0, 2]))]).toEqual([0.5, 0, 0.5]);
  await store.keepTaught([{ sample: 1000, version: "c1", probabilities: Uint16Array.of(0, 0, 0) }]);
  expect(await store.taught("c1", 1000)).toBeNull();
  await teaching.ask([1, 2], MODEL, never);
  await store.deleteSamples();
  expect(await store.taught("c1", 1)).toBeNull();
});

test("where space is short the teacher goes, and what it shares with the model stays", async () => {
  const { teaching, done } = teachingOf(await filled(), "c1", 1 << 20);
  expect(await teaching.ask([1, 2, 3], MODEL, never)).toBe(true);
  expect(done.dropped).toEqual(["weights"]);
});

test("a teacher of other samples is refused before it is fetched", async () => {
  const { teaching, done } = teachingOf(await filled(), "c1");
  await expect(teaching.ask([1], { ...MODEL, inputs: [] }, never)).rejects.toMatchObject({ code: "model.contract" });
  expect(done.fetched).toBe(0);
});
