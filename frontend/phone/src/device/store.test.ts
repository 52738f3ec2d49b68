/** Flash memory loses bits: what the store gives back is what was written, or it is told and goes another way. */
import { IDBFactory } from "fake-indexeddb";
import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import { NOTHING_ASKED } from "../learning/labelling";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { LOSSES, ROW_LOSSES } from "./damage";
import type { Values } from "./kept";
import { OWNER_DEFAULT } from "./policy";
import { sealed } from "./sealing";
import { Store } from "./store";

const NAME = "coterie-device";
const bytes = (length: number, from: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, at) => (at * 37 + from) % 256);
const NEWS = {
  receipt: "3f0c9a52",
  done: false,
  sentence: "its files are being removed",
  asked_at: "2026-01-01T12:00:00+00:00",
  device: "d0",
  taken_out: 1,
  removed: { updates: 3 },
  holds: [],
  versions: 0,
  rebuilt: [],
  done_at: "",
};
const PARTY = {
  session: "s1",
  device: "d1",
  maskKey: bytes(32, 1),
  channelKey: bytes(32, 2),
  seed: bytes(32, 3),
  identity: bytes(32, 4),
  found: null,
  sent: [],
  received: [],
  answered: null,
};
const CLIENT = {
  optimisation: { stepsDone: 7, tensors: bytes(400, 5) },
  classes: [0, 2],
  watched: { epochs: 2, bestLoss: 0.5, waited: 1 },
  lossBefore: null,
  best: bytes(400, 13),
};
const VECTOR = bytes(300, 6);
const OFFER = { assignment: "a1", sha256: sha256Hex(VECTOR), size_bytes: VECTOR.length };

const LOG = Array.from({ length: 5 }, (_, at) => ({
  device: `d${at}`,
  identity: bytes(32, 20 + at),
  head: bytes(32, 40 + at),
}));

/** One of everything that there is one of. */
const VALUES = {
  identity: {
    device: "d1",
    name: "kitchen",
    credential: "cod_secret",
    platformKeys: { current: "a2V5", former: [{ key: "b2xk", until: 12.5 }] },
    joinedAt: 1_700_000_000_000,
  },
  owner: { policy: { ...OWNER_DEFAULT, hours: [22, 7] }, pausedUntil: 5 },
  agreed: [{ at: 4, scopes: ["summed"], read: "Nobody can read what your device learned" }],
  consentAsked: { federation: "digits", scopes: ["readable", "help"] },
  assignment: { assignment: "a1", federation: "digits", round: 3, plan: { kind: "x", share: 0.25 }, seed: 11 },
  saved: { first: 1, last: 8, lossBefore: 1.5, accuracyBefore: 0.5, measureS: 0.1, trainS: 2.5, client: CLIENT },
  spooled: {
    offer: { assignment: "a1", samples: 8 },
    payload: bytes(500, 7),
    state: bytes(90, 8),
    remembered: bytes(70, 9),
    privacy: "none",
  },
  signing: bytes(32, 9),
  logEnd: { length: 5, head: LOG[4]?.head },
  sum: { assignment: "a1", state: PARTY, offer: OFFER },
  masked: VECTOR,
  questionSum: { assignment: "q1", state: PARTY, offer: null },
  questionMasked: bytes(200, 10),
  isMasked: false,
  model: { manifest: "bWFuaWZlc3Q=", signature: "c2ln" },
  forms: { version: "v1", digest: "cd", forms: { float32: [0, 3] }, refused: {}, chosen: "float32", graph: null },
  train_step_s: 0.25,
  upload_s: 1.75,
  receipt: "3f0c9a53",
  forgotten: NEWS,
  labelling: { ...NOTHING_ASKED, open: 4, asked: 6 },
  standing: { digest: "ab", federation: "digits", plan: { kind: "y" } },
  tuning: { digest: "ab", version: "v1", trainStep: "ef", first: 1, last: 8, client: CLIENT },
  tuned: { digest: "ab", federation: "digits", answers: true, samples: 3, ownAccuracy: null, reported: true },
  own: { base: "v1", federation: "digits", tensors: bytes(600, 11) },
  reading: { judged: 8, trained: 4, trainedAt: 7, batches: 2, reportedDrifting: true, watch: { batchesQuiet: 3 } },
  asked: { request: "3f0c9a54", federation: "digits", classes: [2], profile: { batch: 2, classes: [0, 2] } },
  verdict: { transfer: "t1", kept: true, accuracy_before: 0.5, accuracy_after: 0.75, samples: 32 },
  serving: { offer: { transfer: "t2", sha256: sha256Hex(VECTOR), size_bytes: VECTOR.length }, payload: VECTOR },
  portions: [{ transfer: "t1", plan: { kind: "y" }, classes: [2], payload: bytes(120, 13) }],
  helped: [{ name: "t0", outcome: "served", sentence: "helped another device", at: 6, privacy: "clip" }],
  unanswered: { classes: [2], reason: { code: "transfer.all_tried", sentence: "nobody came" } },
  damage: [{ sentence: "something before", count: 2, at: 1 }],
} as unknown as Values;

const SAMPLES = Array.from({ length: 8 }, (_, at) => ({
  x: Float32Array.from({ length: 20 }, (_, place) => (at + 1) / (place + 1)),
  label: at % 3,
  target: new Float32Array(),
}));
const UNLABELLED = Array.from({ length: 4 }, (_, at) => Float32Array.of(at + 0.5, at + 1.5));
const finished = (assignment: string, at: number) => ({
  assignment,
  federation: "digits",
  round: at,
  at,
  outcome: "accepted" as const,
  sentence: "counted",
});
const answered = (answer: string, at: number) => ({
  answer,
  outcome: "answered" as const,
  sentence: "counted",
  federation: "digits",
  question: { count: { kind: "classes" } },
  at,
});
const told = (release: string) => ({ release, federation: "digits", mu2: 0.5, at: 3 });
const PROMISE = { federation: "digits", agreed: { epsilon: 4, delta: 1e-6 }, asked: { epsilon: 8, delta: 1e-6 } };
const BLOB = bytes(700, 12);
const TAUGHT = [1, 2, 3].map((sample) => ({
  sample,
  version: "c1",
  probabilities: Uint16Array.of(sample, 0x3c00 - sample),
}));

async function fill(store: Store): Promise<void> {
  await store.addSamples(SAMPLES);
  await store.addUnlabelled(UNLABELLED, "files");
  for (const at of [1, 2, 3]) {
    await store.put("spooled", VALUES.spooled);
    await store.finish(finished(`f${at}`, at));
  }
  for (const at of [1, 2, 3]) await store.finishAnswer(answered(`q${at}`, at));
  for (const at of [1, 2]) await store.recordSent(`check-in ${at}`, 100 * at, "{}");
  for (const at of [1, 2]) await store.charge(told(`r${at}`), 100);
  for (const [assignment, number] of [["p1", 1] as const, ["p2", 9] as const]) {
    await store.spool(VALUES.spooled, { assignment, federation: "digits", apart: 4, number });
  }
  await store.promise(PROMISE);
  await store.appendLog(0, LOG);
  await store.keepBlob(sha256Hex(BLOB), BLOB, new Set());
  await store.keepTaught(TAUGHT);
  for (const name of Object.keys(VALUES) as (keyof Values)[]) await store.put(name, VALUES[name]);
}

type Read = readonly [read: (store: Store) => Promise<unknown>, written: unknown, lost: (found: unknown) => boolean];
const isWithin = (written: readonly unknown[]) => (found: unknown) =>
  (found as unknown[]).every((one) => written.some((other) => equal(one, other)));
const isNull = (found: unknown): boolean => found === null;

/** By store, what is read of it, what was written, and whether something else is what is left of that. */
const READS: Readonly<Record<keyof typeof ROW_LOSSES, Read>> = {
  samples: [
    async (store) => (await store.load([1, 2, 3, 4, 5, 6, 7, 8])).map(({ x, label, target }) => ({ x, label, target })),
    SAMPLES,
    isWithin(SAMPLES),
  ],
  unlabelled: [
    async (store) => (await store.newestUnlabelled(10)).map(({ x }) => x),
    [...UNLABELLED].reverse(),
    isWithin(UNLABELLED),
  ],
  states: [
    (store) => store.state("digits"),
    { value: VALUES.spooled.state, remembered: VALUES.spooled.remembered },
    isNull,
  ],
  finished: [
    (store) => store.finished(),
    [3, 2, 1].map((at) => finished(`f${at}`, at)),
    isWithin([1, 2, 3].map((at) => finished(`f${at}`, at))),
  ],
  answered: [
    (store) => store.answered(),
    [3, 2, 1].map((at) => answered(`q${at}`, at)),
    isWithin([1, 2, 3].map((at) => answered(`q${at}`, at))),
  ],
  receipts: [
    async (store) => (await store.receipts(10)).map(({ what, bytes: size, body }) => [what, size, body]),
    [2, 1].map((at) => [`check-in ${at}`, 100 * at, "{}"]),
    isWithin([1, 2].map((at) => [`check-in ${at}`, 100 * at, "{}"])),
  ],
  told: [(store) => store.spent(), 1, (found) => found === Number.POSITIVE_INFINITY],
  parts: [
    (store) => store.latestPart({ assignment: "p3", federation: "digits", apart: 4, number: 12 }),
    9,
    (found) => found === null || found === 1,
  ],
  promises: [(store) => store.promised("digits"), PROMISE, isNull],
  identity_log: [
    async (store) => [await store.logHead(5), await store.logged(["d0", "d3"], 5)],
    [
      LOG[4]?.head,
      new Map([
        ["d0", LOG[0]?.identity],
        ["d3", LOG[3]?.identity],
      ]),
    ],
    (found) => ["store.log_damaged", "agent.log_damaged"].includes((found as CodedError).code),
  ],
  taught: [
    (store) => Promise.all([1, 2, 3].map((sample) => store.taught("c1", sample))),
    TAUGHT.map(({ probabilities }) => probabilities),
    (found) =>
      (found as (Uint16Array | null)[]).every((one, at) => one === null || equal(one, TAUGHT[at]?.probabilities)),
  ],
  blobs: [(store) => store.blob(sha256Hex(BLOB)), BLOB, isNull],
};

const VALUE_READS: Readonly<Record<string, Read>> = Object.fromEntries(
  (Object.keys(VALUES) as (keyof Values)[]).map((name) => {
    const { code, instead } = LOSSES[name];
    const isLost = (found: unknown): boolean => {
      if (name === "damage") return true; // what is noted of the rest is in it
      if (code !== undefined) return (found as CodedError | null)?.code === code;
      if (name === "labelling" && found !== null) return (found as Values["labelling"]).snoozed_until > 1e9;
      return equal(found, instead?.() ?? null);
    };
    return [name, [(store: Store) => store.get(name), VALUES[name], isLost] as const];
  }),
);

function equal(a: unknown, b: unknown): boolean {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
}

async function caught(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
}

/** What is done with the browser's database behind the store's back. */
async function behind<T>(does: (database: IDBDatabase) => Promise<T>): Promise<T> {
  const database = await promised(indexedDB.open(NAME));
  try {
    return await does(database);
  } finally {
    database.close();
  }
}

const promised = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Flip one bit of a row in the object store `name`; what browsers keep beside it stays: its key, and what an index is of. */
async function flip(name: string, at: (below: number) => number): Promise<void> {
  await behind(async (database) => {
    const store = database.transaction(name, "readwrite").objectStore(name);
    const keys = await promised(store.getAllKeys());
    if (keys.length === 0) return;
    const key = keys[at(keys.length)] as IDBValidKey;
    const row = await promised(store.get(key));
    const before = { ...row };
    const places = [...bitsOf(row)];
    const changed = (places[at(places.length)] as Place)(row, at) as object;
    if (store.keyPath === null) await promised(store.put(changed, key));
    else {
      const beside = [
        store.keyPath as string,
        ...[...store.indexNames].map((one) => store.index(one).keyPath as string),
      ];
      await promised(store.put({ ...changed, ...Object.fromEntries(beside.map((field) => [field, before[field]])) }));
    }
  });
}

type Place = (row: unknown, at: (below: number) => number) => unknown;

/** Everything in a row that has bits: each changes a copy of it. */
function* bitsOf(value: unknown): Generator<Place> {
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength === 0) return;
    yield (row, at) => {
      const { buffer, byteOffset, byteLength } = row as Uint8Array;
      const bit = at(8 * byteLength);
      const all = new Uint8Array(buffer, byteOffset, byteLength);
      all[bit >> 3] = (all[bit >> 3] as number) ^ (1 << (bit & 7));
      return row;
    };
  } else if (typeof value === "number") {
    yield (row, at) => {
      const float = Float64Array.of(row as number);
      const all = new Uint8Array(float.buffer);
      const bit = at(row === 0 ? 63 : 64); // -0 is 0
      all[bit >> 3] = (all[bit >> 3] as number) ^ (1 << (bit & 7));
      return float[0];
    };
  } else if (typeof value === "boolean") yield (row) => !row;
  else if (typeof value === "string" && value !== "") yield (row, at) => flippedText(row as string, at);
  else if (Array.isArray(value)) {
    for (const [place, one] of value.entries()) {
      for (const change of bitsOf(one))
        yield (row, at) => Object.assign(row as unknown[], { [place]: change((row as unknown[])[place], at) });
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      yield (row, at) =>
        Object.fromEntries(
          Object.entries(row as object).map(([other, kept]) => [other === name ? flippedText(name, at) : other, kept]),
        );
      for (const change of bitsOf(one)) {
        yield (row, at) => ({ ...(row as object), [name]: change((row as Record<string, unknown>)[name], at) });
      }
    }
  }
}

function flippedText(text: string, at: (below: number) => number): string {
  const place = at(text.length);
  const other = String.fromCharCode(text.charCodeAt(place) ^ (1 << at(7)));
  return text.slice(0, place) + other + text.slice(place + 1);
}

/** Numbers below a bound, drawn by a seed (mulberry32). */
function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

async function filled(): Promise<Store> {
  const store = await Store.open();
  await fill(store);
  return store;
}

test("a sound store gives back everything, and tells of no damage", async () => {
  const store = await filled();
  for (const [name, [read, written]] of Object.entries({ ...READS, ...VALUE_READS })) {
    expect(await read(store), name).toEqual(written);
  }
  expect(await store.held()).toMatchObject({ samples: 8, unlabelled: 4, counts: [3, 3, 2] });
  expect(await store.damage()).toEqual(VALUES.damage);
});

const STORES = Object.keys(READS) as (keyof typeof READS)[];

test.each(STORES)("a bit that flips in %s is noticed, told, and noticed once", async (name) => {
  const [read, written, isLost] = READS[name];
  let noticed = 0;
  for (let seed = 0; seed < 15; seed++) {
    globalThis.indexedDB = new IDBFactory();
    const store = await filled();
    await flip(name, drawn(seed));
    const found = await caught(read(store));
    if (equal(found, written)) continue; // it was a row that is not read, or its key
    expect(isLost(found), `seed ${seed}`).toBe(true);
    const [latest] = await store.damage();
    expect(latest).toMatchObject({ sentence: ROW_LOSSES[name], count: 1 });
    noticed += 1;
    await caught(read(store));
    expect((await store.damage())[0]).toEqual(latest);
  }
  expect(noticed).toBeGreaterThan(5);
});

test.each(Object.keys(VALUES) as (keyof Values)[])("a bit that flips in the value %s is noticed", async (name) => {
  for (let seed = 0; seed < 10; seed++) {
    globalThis.indexedDB = new IDBFactory();
    const store = await Store.open();
    await store.put(name, VALUES[name]);
    await flip("values", drawn(seed));
    const [read, , isLost] = VALUE_READS[name] as Read;
    const found = await caught(read(store));
    expect(isLost(found) && !equal(found, VALUES[name]), `seed ${seed}`).toBe(true);
    const { code, sentence } = LOSSES[name];
    if (code === undefined) expect(await store.damage()).toMatchObject([{ sentence, count: 1 }]);
    else expect((found as CodedError).message).toBe(sentence);
  }
});

test.each([1, 20, 300])("of %i flipped bits none is worked with", async (bits) => {
  const names = [...STORES, "values"];
  for (let seed = 0; seed < 8; seed++) {
    globalThis.indexedDB = new IDBFactory();
    const store = await filled();
    const at = drawn(1000 * bits + seed);
    for (let bit = 0; bit < bits; bit++) await flip(names[at(names.length)] as string, at);
    for (const [name, [read, written, isLost]] of Object.entries({ ...READS, ...VALUE_READS })) {
      const found = await caught(read(store));
      expect(equal(found, written) || isLost(found), `${name}, seed ${seed}`).toBe(true);
    }
  }
});

/** What an edition before this one has kept, as it kept it: rows have seals from 6 on. */
async function keptBy(edition: 5 | 6 | 7): Promise<void> {
  const opening = indexedDB.open(NAME, edition);
  opening.onupgradeneeded = () => {
    const { result: fresh } = opening;
    for (const name of ["values", "states", "blobs"]) fresh.createObjectStore(name);
    for (const name of ["samples", "unlabelled", "receipts"]) {
      fresh.createObjectStore(name, { keyPath: "id", autoIncrement: true });
    }
    const keys = {
      finished: "assignment",
      answered: "answer",
      told: "release",
      parts: "assignment",
      promises: "federation",
    };
    for (const [name, keyPath] of Object.entries(keys)) fresh.createObjectStore(name, { keyPath });
    fresh.createObjectStore("identity_log", { keyPath: "position" }).createIndex("device", "device", { unique: true });
    if (edition === 7) fresh.createObjectStore("taught", { keyPath: "sample" });
  };
  const database = await promised(opening);
  const writing = database.transaction([...database.objectStoreNames], "readwrite");
  const rows: Record<string, readonly object[]> = {
    samples: SAMPLES.map((one, at) => ({ ...one, id: at + 1, ...(edition === 7 ? { at } : {}) })),
    unlabelled: UNLABELLED.map((x, at) => ({ x, id: at + 1 })),
    finished: [1, 2, 3].map((at) => finished(`f${at}`, at)),
    answered: [1, 2, 3].map((at) => answered(`q${at}`, at)),
    receipts: [1, 2].map((at) => ({ id: at, at: 0, what: `check-in ${at}`, bytes: 100 * at, body: "{}" })),
    told: [told("r1"), told("r2")],
    parts: [{ assignment: "p2", federation: "digits", apart: 4, number: 9 }],
    promises: [PROMISE],
    identity_log: LOG.map((one, at) => ({ ...one, position: at + 1 })),
  };
  const isSealed = edition > 5;
  for (const [name, some] of Object.entries(rows)) {
    const store = writing.objectStore(name);
    for (const row of some) {
      const key = (row as Record<string, string>)[store.keyPath as string];
      store.add(isSealed ? sealed(`${name} ${key}`, row) : row);
    }
  }
  const { logEnd: _, ...before } = VALUES; // no edition before this one has noted it
  const named = Object.entries(before).map(([key, value]) => ["values", key, value] as const);
  for (const [name, key, value] of [...named, ["states", "digits", VALUES.spooled.state] as const]) {
    writing.objectStore(name).put(isSealed ? sealed(`${name} ${key}`, { value }) : value, key);
  }
  writing.objectStore("blobs").put(BLOB, sha256Hex(BLOB));
  await new Promise((resolve) => {
    writing.oncomplete = resolve;
  });
  database.close();
}

test.each([5, 6] as const)("what edition %i of the store has kept is read, and is sealed", async (edition) => {
  await keptBy(edition);
  const began = Date.now();
  const store = await Store.open();
  const { taught: _, ...reads } = READS;
  const otherwise: Record<string, unknown> = { saved: null, tuning: null, states: { value: VALUES.spooled.state } };
  for (const [name, [read, written]] of Object.entries({ ...reads, ...VALUE_READS })) {
    expect(await read(store), name).toEqual(name in otherwise ? otherwise[name] : written);
  }
  expect(await store.firstSince(began), "samples have come when it was noted").toBe(1);
  await flip("states", drawn(1));
  expect(await store.state("digits")).toBeNull();
  expect((await store.damage())[0]?.sentence).toBe(ROW_LOSSES.states);
});

test("what edition 7 of the store has kept stays, and where its log of identities ends is noted", async () => {
  await keptBy(7);
  const store = await Store.open();
  expect(await store.logEnd()).toEqual(VALUES.logEnd);
  expect(await store.get("saved")).toEqual(VALUES.saved);
  expect(await store.firstSince(SAMPLES.length)).toBeNull();
});

test("an assignment that is damaged goes with its work, and the membership stays", async () => {
  const store = await Store.open();
  for (const name of ["identity", "assignment", "saved", "spooled"] as const) await store.put(name, VALUES[name]);
  await damage("assignment");
  expect(await store.get("assignment")).toBeNull();
  expect([await store.get("saved"), await store.get("spooled")]).toEqual([null, null]);
  expect(await store.get("identity")).toEqual(VALUES.identity);
});

test("choices that are damaged have the device rest until its owner chooses", async () => {
  const store = await Store.open();
  await store.put("owner", VALUES.owner);
  await damage("owner");
  expect((await store.get("owner"))?.pausedUntil).toBe(Number.MAX_SAFE_INTEGER);
  const otherwise = { ...VALUES.owner, privacy: { epsilon: 8, delta: 1e-6, raised: "ask" } } as never;
  await store.choose({ pausedUntil: 0 }, otherwise);
  expect(await store.get("owner")).toEqual({ policy: OWNER_DEFAULT, pausedUntil: 0 });
});

test("what is made only once is never made again", async () => {
  const store = await Store.open();
  for (const name of ["signing", "sum", "masked"] as const) await store.put(name, VALUES[name]);
  for (const name of ["signing", "sum", "masked"] as const) await damage(name);
  const codes = [store.signing(), store.sumOfUpdates.sum("a1"), store.sumOfUpdates.keepSum("a1", PARTY)].map(caught);
  expect((await Promise.all(codes)).map((error) => (error as CodedError).code)).toEqual([
    "agent.no_identity_key",
    "agent.sum_damaged",
    "agent.sum_damaged",
  ]);
  await store.accept({ ...VALUES.assignment, assignment: "a2" }, false);
  expect(await store.sumOfUpdates.sum("a2")).toBeNull();
});

test("the log of identities is read again from the entry that is damaged", async () => {
  const store = await Store.open();
  await store.appendLog(0, LOG);
  await behind(async (database) => {
    const log = database.transaction("identity_log", "readwrite").objectStore("identity_log");
    await promised(log.put({ ...(await promised(log.get(3))), identity: bytes(32, 0) }));
  });
  await expect(store.logged(["d2"], 5)).rejects.toMatchObject({ code: "store.log_damaged" });
  expect(await store.logLength()).toBe(2);
  expect(await store.logEnd(), "what is read again must end as before").toEqual(VALUES.logEnd);
  await store.appendLog(5, [LOG[0] as (typeof LOG)[number]]);
  expect(await store.logLength(), "none follow on a gap").toBe(2);
  await store.appendLog(2, LOG.slice(2));
  expect(await store.logged(["d2"], 5)).toEqual(new Map([["d2", LOG[2]?.identity]]));
});

test("where the end of the log is damaged its last entry tells it, and where that is, too, nothing does", async () => {
  const store = await Store.open();
  await store.appendLog(0, LOG);
  await damage("logEnd");
  expect(await store.logEnd()).toEqual(VALUES.logEnd);
  await damage("logEnd");
  await behind(async (database) => {
    const log = database.transaction("identity_log", "readwrite").objectStore("identity_log");
    await promised(log.put({ ...(await promised(log.get(5))), identity: bytes(32, 0) }));
  });
  await expect(store.logEnd()).rejects.toMatchObject({ code: "agent.log_damaged" });
  await expect(store.logHead(5)).rejects.toMatchObject({ code: "agent.log_damaged" });
  expect(await store.logLength(), "nothing of the log is removed then").toBe(5);
});

test("a state that would follow from a damaged update is not followed by the one before", async () => {
  const store = await Store.open();
  await store.put("spooled", VALUES.spooled);
  await store.finish(finished("a1", 1));
  await store.put("spooled", VALUES.spooled);
  await damage("spooled");
  await store.finish(finished("a2", 2));
  expect(await store.state("digits")).toBeNull();
});

test("what was damaged is said until it has been read, also after the device has left", async () => {
  const store = await Store.open();
  await store.put("saved", VALUES.saved);
  await damage("saved");
  await store.get("saved");
  await store.forgetDevice();
  expect(await store.damage()).toMatchObject([{ sentence: LOSSES.saved.sentence, count: 1 }]);
  await store.drop("damage");
  expect(await store.damage()).toEqual([]);
});

/** Have the seal of a value be another. */
async function damage(name: keyof Values): Promise<void> {
  await behind(async (database) => {
    const values = database.transaction("values", "readwrite").objectStore("values");
    await promised(values.put({ ...(await promised(values.get(name))), seal: bytes(8, 99) }, name));
  });
}

test("samples whose label the model does not know are set aside, and there again with one that knows it", async () => {
  const store = await filled();
  await store.deleteSamples();
  const row = (label: number) => ({ x: Float32Array.of(label), label, target: new Float32Array() });
  await store.addSamples([row(0), row(3), row(2)]);
  const [first, aside, last] = await store.sampleIds();
  store.fit(3);
  expect(await store.sampleIds()).toEqual([first, last]);
  expect(await store.held()).toMatchObject({ samples: 3, aside: 1, counts: [1, 0, 1] });
  store.fit(4);
  expect(await store.sampleIds()).toEqual([first, aside, last]);
  expect(await store.held()).toMatchObject({ samples: 3, aside: 0, counts: [1, 0, 1, 1] });
});

test("samples of a source that was taken back are not read, not counted, and there again once it is given again", async () => {
  const store = await filled();
  await store.put("agreed", [{ at: 1, scopes: ["readable"], read: "" }]);
  await store.deleteSamples();
  const sample = { x: Float32Array.of(1, 2), label: 0, target: new Float32Array() };
  await store.addSamples([{ ...sample, source: "motion" }, { ...sample, source: "files" }, { ...sample }]);
  const all = await store.sampleIds();
  expect(all).toHaveLength(3);
  await store.put("agreed", [{ at: 2, scopes: ["readable"], read: "", withdrawn: ["source:motion", "labels"] }]);
  expect(await store.sampleIds()).toEqual(all.slice(1));
  expect((await store.load(all)).map(({ id }) => id)).toEqual(all.slice(1));
  expect((await store.held()).samples).toBe(2);
  await store.addUnlabelled([Float32Array.of(1, 2)], "motion");
  expect((await store.newestUnlabelled(9)).filter(({ source }) => source === "motion")).toEqual([]);
  await store.put("agreed", [{ at: 3, scopes: ["readable"], read: "", withdrawn: [] }]);
  expect(await store.sampleIds()).toEqual(all);
});
