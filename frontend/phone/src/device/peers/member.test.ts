import { IDBFactory } from "fake-indexeddb";
import "fake-indexeddb/auto";
import type * as v from "valibot";
import { beforeEach, expect, test } from "vitest";
import { parseDevicePlan } from "../../learning/plan";
import { encodePortion, termsOf } from "../../learning/portions/payload";
import { nativeRound } from "../../testing/golden";
import type { Manifest, ModelSpec } from "../../wire/bundle";
import { fromBase64, sha256Hex } from "../../wire/bytes";
import { type Assignment, checked, type Directive, type HelpNews } from "../../wire/messages";
import { decodeFloats, encodeTensors, float32, type Tensors } from "../../wire/tensors";
import { Refused, Unreachable } from "../failure";
import type { Link } from "../link";
import { OWNER_DEFAULT } from "../policy";
import type { PeersChoices } from "../sharing";
import { PEERS_DEFAULT } from "../sharing";
import { Store } from "../store";
import { train } from "../training";
import { callsOf } from "./duties";
import { Member } from "./member";

const NATIVE = nativeRound();
const MODEL: ModelSpec = { ...NATIVE.model, own_loss: undefined, length: undefined };
const PLAN = {
  local: { kind: "sgd", learning_rate: 0.5 },
  codec: { kind: "float32" },
  privacy: { kind: "clip", norm: 1000 },
  requirements: {},
  help: {
    kind: "cartel",
    portion: "head",
    report_batches: 3,
    recent_batches: 2,
    window_batches: 4,
    cool_down_batches: 2,
  },
  alone_every_s: null as number | null,
  spares_newest: false,
};
const [KNOWN, NEW] = [
  [0, 1, 0, 1],
  [2, 2, 0, 1],
];
const CENTRES = [
  [2, 0, 0, 0],
  [0, 2, 0, 0],
  [0, 0, 2, 0],
];
const version = (rows: readonly (readonly number[])[], bias: readonly number[]): Tensors =>
  new Map([
    ["weight", float32([3, 4], Float32Array.from(rows.flat()))],
    ["bias", float32([3], Float32Array.from(bias))],
  ]);
/** Knows every class. */
const GOOD = version(CENTRES, [0, 0, 0]);
/** Never finds the last. */
const RECEIVED = version(CENTRES, [0, 0, -50]);
const PARTS: Readonly<Record<string, Uint8Array>> = {
  train: fromBase64(NATIVE.train_step),
  predict: fromBase64(NATIVE.predict),
  v1: encodeTensors(RECEIVED),
};
const MANIFEST = {
  version: "v1",
  model: MODEL,
  train_step: { sha256: "train" },
  predict: { sha256: "predict" },
  parameters: { sha256: "v1" },
  frozen: null,
} as unknown as Manifest;

/** What the device sends, and what it is answered. */
class FakeLink {
  readonly sent: [string, Record<string, unknown>][] = [];
  portion = new Uint8Array();
  uploaded = new Uint8Array();
  /** Thrown once, by whatever is called next. */
  fault: Error | null = null;

  async call<S extends v.GenericSchema>(name: string, message: object, reply: S): Promise<v.InferOutput<S>> {
    this.fail();
    const told = message as Record<string, unknown>;
    this.sent.push([name, told]);
    const accepted = this.uploaded.length === told.size_bytes;
    const replies: Record<string, object> = {
      "ask-help": { request: told.request, state: "asked" },
      "offer-portion": { offset: this.uploaded.length, accepted },
    };
    return checked(reply, replies[name] ?? {}, "wire.malformed", name);
  }

  async upload(_what: string, _key: string, offset: number, chunk: Uint8Array) {
    expect(offset).toBe(this.uploaded.length);
    this.uploaded = Uint8Array.of(...this.uploaded, ...chunk);
    this.fail();
    const [, offer] = this.sent.findLast(([name]) => name === "offer-portion") as [string, { size_bytes: number }];
    return { offset: this.uploaded.length, accepted: this.uploaded.length === offer.size_bytes };
  }

  async downloadPortion(): Promise<Uint8Array> {
    this.fail();
    return this.portion;
  }

  named(name: string): Record<string, unknown>[] {
    return this.sent.filter(([one]) => one === name).map(([, message]) => message);
  }

  private fail(): void {
    const { fault } = this;
    this.fault = null;
    if (fault !== null) throw fault;
  }
}

/** A device that holds a version; it does what is due when it is told to. */
class Device {
  readonly link = new FakeLink();
  directive: Directive | null = null;
  isOffline = false;
  private taken = 0;
  private member!: Member;

  private constructor(
    readonly store: Store,
    private plan: object,
  ) {}

  static async of(plan: object = PLAN, peers: Partial<PeersChoices> = {}): Promise<Device> {
    const device = new Device(await Store.open(), plan);
    const choices = { policy: OWNER_DEFAULT, pausedUntil: 0, peers: { ...PEERS_DEFAULT, ...peers } };
    await device.store.put("owner", choices);
    await device.stand(plan);
    return device;
  }

  /** The plan that holds from now on, as after a kill. */
  async stand(plan: object): Promise<void> {
    this.plan = plan;
    await this.store.put("standing", this.standing);
    this.start();
  }

  get standing() {
    const { plan } = this;
    return { digest: sha256Hex(new TextEncoder().encode(JSON.stringify(plan))), federation: "digits", plan };
  }

  start(): void {
    const { store } = this;
    this.member = new Member({
      standing: this.standing,
      plan: parseDevicePlan(this.plan),
      manifest: MANIFEST,
      store,
      link: this.link as unknown as Link,
      part: async (sha256) => PARTS[sha256] as Uint8Array,
      chunkBytes: 40,
      now: () => ({ directive: this.directive }) as never,
      isOffline: () => this.isOffline,
      mustStop: () => false,
      checkIn: () => {},
    });
  }

  status() {
    return this.member.status();
  }

  direct(directive: { help?: Partial<HelpNews>; serve?: object }): void {
    const told = { help: null, serve: null, ...directive };
    this.directive = told as unknown as Directive;
  }

  /** Do the first thing that is due; false where nothing is. */
  async step(): Promise<boolean> {
    const due = await this.member.due();
    if (due === "tell-peers") await this.member.tell();
    if (due === "learn-alone") await this.member.learn();
    return due !== null;
  }

  async live(): Promise<void> {
    for (let steps = 0; steps < 60; steps++) if (!(await this.step())) return;
    throw new Error(`still busy; the last message was ${JSON.stringify(this.link.sent.at(-1))}`);
  }

  /** New samples, each near the centre of its class, batch by batch, and whatever is due after each. */
  async take(...batches: (readonly number[])[]): Promise<void> {
    for (const labels of batches) {
      await this.store.addSamples(
        labels.map((label) => {
          this.taken += 1;
          const x = Float32Array.from(CENTRES[label] as number[], (one, at) => one + 0.05 * Math.sin(this.taken + at));
          return { x, label, target: new Float32Array() };
        }),
      );
      await this.live();
    }
  }

  async news(state: HelpNews["state"], portion: Uint8Array | null = null): Promise<{ help: Partial<HelpNews> }> {
    const asked = await this.store.get("asked");
    const reason = { code: "transfer.all_tried", sentence: "nobody came" };
    if (portion === null) return { help: { request: asked?.request ?? "", state, reason, portion: null } };
    this.link.portion = new Uint8Array(portion);
    const content = { sha256: sha256Hex(portion), size_bytes: portion.length };
    const told = { transfer: "t-1", content, remaining_s: 60 };
    return { help: { request: asked?.request ?? "", state, reason: null, portion: told } };
  }

  async own(): Promise<Tensors> {
    return decodeFloats((await this.store.get("own"))?.tensors ?? new Uint8Array(), MODEL.parameters);
  }
}

const rows = (parameters: Tensors, classes: number[] = [2]): Uint8Array =>
  encodePortion(termsOf(parseDevicePlan(PLAN), MODEL, classes), parameters, { seed: 0, secret: 0n });
const unreachable = (): Error => new Unreachable("no answer");
const refused = (code: string, status: number): Error => new Refused({ code, title: code, status, detail: "no" });
const serve = (device: Device, classes: number[] = [0, 1]) => ({
  serve: { transfer: "t-9", federation: "digits", digest: device.standing.digest, classes, remaining_s: 60 },
});

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

test("a device whose model fails asks, keeps a portion that helps, and its next update starts from it", async () => {
  const device = await Device.of();
  await device.take(KNOWN, KNOWN, NEW, NEW);
  const [ask] = device.link.named("ask-help");
  expect(ask).toMatchObject({ federation: "digits", classes: [2], profile: { drifting: true, willing: false } });
  expect(await device.status()).toMatchObject({ drifting: true, needs: [2], wait: { code: "help.not_asked_yet" } });
  device.direct(await device.news("delivered", rows(GOOD)));
  await device.live();
  expect(device.link.named("report-merged")).toEqual([{ transfer: "t-1" }]);
  const [verdict] = device.link.named("give-verdict");
  expect(verdict).toEqual({ transfer: "t-1", kept: true, accuracy_before: 0.5, accuracy_after: 1, samples: 8 });
  expect((await device.own()).get("bias")?.data[2]).toBe(0);
  expect(await device.store.get("asked")).toBeNull();
  expect(await device.store.get("portions")).toMatchObject([{ transfer: "t-1", classes: [2] }]);
  expect((await device.status())?.helped).toMatchObject([{ outcome: "kept", name: ask?.request }]);
  const finished = {
    assignment: "a",
    federation: "digits",
    round: 1,
    at: 1,
    outcome: "accepted",
    sentence: "",
  } as const;
  await device.store.finish({ ...finished, outcome: "dropped" });
  expect(await device.store.get("portions"), "until an update that starts from it is accepted").not.toBeNull();
  await device.store.finish(finished);
  expect(await device.store.get("portions")).toBeNull();
});

test("a portion that comes while a round trains is in the own model after it, and the next update starts from it", async () => {
  const device = await Device.of();
  const { store } = device;
  await device.take(KNOWN, KNOWN, NEW, NEW);
  const plan = { ...PLAN, local: { kind: "distill", lambda_d: 1, head: "all", epochs: 3 } };
  const assignment = { assignment: "a", federation: "digits", round: 1, plan, seed: 3 } as unknown as Assignment;
  await store.accept(assignment, false);
  const { counts } = await store.held();
  const trains = async (most: number): Promise<boolean> => {
    let steps = 0;
    const report = (done: number): void => {
      steps = done;
    };
    const halt = () => (steps >= most ? "pause" : null);
    const part = async (sha256: string) => PARTS[sha256] as Uint8Array;
    return await train(assignment, MANIFEST, { store, part, halt, report, teaching: null, counts });
  };
  expect(await trains(2)).toBe(false);
  device.direct(await device.news("delivered", rows(GOOD)));
  await device.live();
  expect(await store.get("portions")).toMatchObject([{ transfer: "t-1", during: "a" }]);
  expect(await trains(Number.POSITIVE_INFINITY)).toBe(true);
  expect((await device.own()).get("bias")?.data[2]).toBe(0);
  const finished = { federation: "digits", round: 1, at: 1, outcome: "accepted", sentence: "" } as const;
  await store.finish({ ...finished, assignment: "a" });
  expect(await store.get("portions"), "the update of the round does not have it").toHaveLength(1);
  await store.finish({ ...finished, assignment: "b" });
  expect(await store.get("portions")).toBeNull();
});

test("what the platform has a member do at once is named, and what waits for it is not", () => {
  const help = (news: Partial<HelpNews>) =>
    ({ request: "r", state: "asked", reason: null, portion: null, ...news }) as HelpNews;
  const portion = { transfer: "t", content: { sha256: "", size_bytes: 0 }, remaining_s: 1 };
  const served = { transfer: "s", federation: "f", digest: "", classes: [], remaining_s: 1 };
  expect(callsOf({ help: null, serve: null })).toEqual([]);
  expect(callsOf({ help: help({ state: "matched" }), serve: null })).toEqual([]);
  expect(callsOf({ help: help({ state: "delivered", portion }), serve: null })).toEqual(["r t"]);
  expect(callsOf({ help: help({ state: "unknown" }), serve: served })).toEqual(["r unknown", "s"]);
  expect(callsOf({ help: help({ state: "unmatched" }), serve: null })).toEqual(["r unmatched"]);
});

test("help that does not help is undone", async () => {
  const device = await Device.of();
  await device.take(NEW, NEW);
  const useless = version(
    CENTRES.map((row) => row.map((one) => -one)),
    [0, 0, 0],
  );
  const before = await device.own();
  device.direct(await device.news("delivered", rows(useless)));
  await device.live();
  expect(device.link.named("give-verdict")).toMatchObject([{ kept: false, accuracy_before: 0.5, accuracy_after: 0.5 }]);
  expect(await device.own()).toEqual(before);
  expect(await device.store.get("portions")).toBeNull();
});

test.each([0, 1, 2, 3, 4])("killed at moment %i it is helped once", async (moment) => {
  const device = await Device.of();
  await device.take(NEW, NEW);
  const news = await device.news("delivered", rows(GOOD));
  for (let calls = 0; calls < 5; calls++) {
    device.direct(news);
    if (calls === moment) device.link.fault = unreachable();
    await device.step().catch((error) => expect(error).toBeInstanceOf(Unreachable));
    if (calls === moment) device.start();
  }
  device.link.fault = null;
  device.direct(news);
  await device.live();
  expect(new Set(device.link.named("give-verdict").map(({ kept }) => kept))).toEqual(new Set([true]));
  expect((await device.store.get("helped"))?.map(({ outcome }) => outcome)).toEqual(["kept"]);
  expect(await device.store.get("portions")).toHaveLength(1);
});

test("a hostile portion is declined and changes nothing", async () => {
  const device = await Device.of();
  await device.take(NEW, NEW);
  const before = await device.own();
  device.direct(await device.news("delivered", rows(GOOD).subarray(0, -4)));
  await device.live();
  expect(device.link.named("decline-transfer")).toMatchObject([
    { transfer: "t-1", reason: { code: "update.malformed" } },
  ]);
  expect(device.link.named("give-verdict")).toEqual([]);
  expect(await device.store.get("asked"), "another helper may come").not.toBeNull();
  expect(await device.own()).toEqual(before);
});

test("what the platform has forgotten is asked again, and what it has ended is not", async () => {
  const device = await Device.of();
  await device.take(NEW, NEW);
  device.direct(await device.news("unknown"));
  await device.live();
  const [first, again] = device.link.named("ask-help");
  expect(again).toEqual(first);
  device.direct(await device.news("unmatched"));
  await device.live();
  expect(await device.store.get("helped")).toMatchObject([{ outcome: "unanswered", sentence: "class 2: nobody came" }]);
  expect(await device.status()).toMatchObject({ needs: [2], wait: { code: "transfer.all_tried" } });
  await device.take(NEW);
  expect(device.link.named("ask-help"), "the cool-down lasts").toHaveLength(2);
  await device.take(NEW);
  expect(device.link.named("ask-help")).toHaveLength(3);
});

test("one that has recovered by itself withdraws its request", async () => {
  const device = await Device.of();
  await device.take(NEW, NEW, KNOWN, KNOWN);
  device.direct(await device.news("asked"));
  await device.live();
  expect(device.link.named("withdraw-help")).toHaveLength(1);
  expect(await device.store.get("helped")).toMatchObject([{ outcome: "withdrawn" }]);
});

test("it asks nothing without a network, and tells when its data moved and every so many batches", async () => {
  const device = await Device.of();
  device.isOffline = true;
  await device.take(NEW, NEW);
  expect(device.link.sent).toEqual([]);
  device.isOffline = false;
  await device.live();
  expect(device.link.named("ask-help")).toHaveLength(1);
  expect(device.link.named("report-profile")).toHaveLength(1);
  await device.take(NEW, NEW);
  expect(device.link.named("report-profile")).toHaveLength(1);
  await device.take(NEW);
  expect(device.link.named("report-profile"), "every third batch").toHaveLength(2);
  expect(device.link.named("report-profile")[1]).toMatchObject({
    profile: { batch: 5, classes: [0, 1, 2], counts: [4, 4, 8], hits: [4, 4, 0], drifting: true },
  });
});

test.each<[Partial<PeersChoices>, object]>([
  [{}, { counts: [2, 2], hits: [2, 2], willing: true }],
  [{ helpOthers: false }, { counts: [2, 2], hits: [2, 2], willing: false }],
  [{ tell: "classes" }, { counts: [1, 1], hits: null, willing: false }],
])("its owner decides what is told: %j", async (peers, told) => {
  const device = await Device.of(PLAN, peers);
  await device.take(KNOWN);
  expect(device.link.named("report-profile")).toMatchObject([{ profile: told }]);
});

test("an owner who lets nothing be told is told why nobody helps, and what was told is withdrawn", async () => {
  const device = await Device.of();
  await device.take(KNOWN);
  const owner = { policy: OWNER_DEFAULT, pausedUntil: 0, peers: { ...PEERS_DEFAULT, tell: "nothing" } } as const;
  await device.store.put("owner", owner);
  await device.take(NEW, NEW);
  expect(device.link.named("ask-help")).toEqual([]);
  const profiles = device.link.named("report-profile");
  expect(profiles).toHaveLength(2);
  expect(profiles[1]).toMatchObject({ profile: { classes: [], willing: false, hits: null } });
  expect((await device.status())?.wait?.code).toBe("help.withheld");
});

test("profiles leave with noise that no retry draws anew", async () => {
  const device = await Device.of({ ...PLAN, help: { ...PLAN.help, noise_multiplier: 0.3 } });
  device.link.fault = unreachable();
  await expect(device.take(KNOWN)).rejects.toBeInstanceOf(Unreachable);
  const kept = (await device.store.get("reading"))?.watch?.reported ?? [];
  device.start();
  await device.live();
  const [report] = device.link.named("report-profile") as [
    { profile: { classes: number[]; counts: number[]; noise: object } },
  ];
  const told = kept.flatMap((count, label) => (count > 0 ? [[label, count]] : []));
  expect(report.profile.classes.map((label, at) => [label, report.profile.counts[at]])).toEqual(told);
  expect(report.profile.noise).toMatchObject({ delta: 1e-6 });
});

test("it helps with the rows of its own model, once, and an upload that broke off goes on with the same bytes", async () => {
  const device = await Device.of();
  await device.take(KNOWN);
  device.direct(serve(device));
  device.link.fault = null;
  const upload = device.link.upload.bind(device.link);
  device.link.upload = async (...given) => {
    device.link.fault = unreachable();
    device.link.upload = upload;
    return await upload(...given);
  };
  await expect(device.live()).rejects.toBeInstanceOf(Unreachable);
  expect(device.link.uploaded).toHaveLength(40);
  device.start();
  await device.live();
  expect(device.link.uploaded).toEqual(rows(RECEIVED, [0, 1]));
  expect(await device.store.get("helped")).toMatchObject([{ name: "t-9", outcome: "served", privacy: "clip" }]);
  expect(await device.store.get("serving")).toBeNull();
  const offers = device.link.named("offer-portion").length;
  device.direct(serve(device));
  await device.live();
  expect(device.link.named("offer-portion")).toHaveLength(offers);
});

test.each<[string, Partial<PeersChoices>, number[], string]>([
  ["whose owner does not let it help", { helpOthers: false }, [0], "help.unwilling"],
  ["of another model", {}, [7], "portion.unknown_class"],
])("a device %s declines", async (_, peers, classes, code) => {
  const device = await Device.of(PLAN, peers);
  await device.take(KNOWN);
  device.direct(serve(device, classes));
  await device.live();
  expect(device.link.named("decline-transfer")).toMatchObject([{ transfer: "t-9", reason: { code } }]);
  expect(device.link.named("offer-portion")).toEqual([]);
  expect(await device.store.get("helped")).toMatchObject([{ outcome: "declined" }]);
});

test("a portion that the platform refuses is not offered again", async () => {
  const device = await Device.of();
  await device.take(KNOWN);
  device.direct(serve(device));
  device.link.fault = refused("transfer.ended", 410);
  await device.live();
  expect(await device.store.get("helped")).toMatchObject([{ name: "t-9", outcome: "declined" }]);
});

test("it trains on what it was evaluated on, batch by batch, but for the newest where versions come", async () => {
  const device = await Device.of({ ...PLAN, alone_every_s: 0 });
  await device.take(KNOWN, NEW, NEW, [0]);
  expect(await device.store.get("reading")).toMatchObject({ judged: 12, trained: 12, batches: 3 });
  expect((await device.own()).get("bias")?.data[2]).toBeGreaterThan(-50);
  const sparing = await Device.of({ ...PLAN, alone_every_s: 0, spares_newest: true });
  await sparing.live();
  await sparing.take(KNOWN);
  expect(await sparing.store.get("reading")).toMatchObject({ judged: 16, trained: 12 });
});

test("where devices train alone without helping each other, nothing is evaluated or told", async () => {
  const device = await Device.of({ ...PLAN, help: { kind: "none" }, alone_every_s: 0 });
  await device.take(KNOWN, KNOWN);
  expect(await device.store.get("reading")).toMatchObject({ trained: 8, batches: 0, watch: null });
  expect(device.link.sent).toEqual([]);
  expect(await device.status()).toBeNull();
});

test("under a plan that has changed meanwhile nothing is kept", async () => {
  const device = await Device.of();
  await device.take(KNOWN);
  const before = await device.store.get("reading");
  await device.store.put("standing", { ...device.standing, digest: "0".repeat(64) });
  await device.take([]);
  await device.store.addSamples(
    KNOWN.map((label) => ({ x: Float32Array.from(CENTRES[label] as number[]), label, target: new Float32Array() })),
  );
  await device.step();
  expect(await device.store.get("reading")).toEqual(before);
  expect(device.link.named("report-profile")).toHaveLength(1);
});

test("what a step computes while the device leaves is not kept", async () => {
  const device = await Device.of();
  await device.take(KNOWN);
  await device.store.forgetDevice();
  await device.step();
  for (const name of ["reading", "own", "asked", "helped"] as const) expect(await device.store.get(name)).toBeNull();
});

test("a version that comes takes the place of a personal model that does no better, and not of one that does", async () => {
  for (const [own, stays] of [
    [GOOD, true],
    [RECEIVED, false],
  ] as const) {
    const device = await Device.of();
    await device.take(NEW, NEW);
    await device.store.put("own", { base: "v0", federation: "digits", tensors: encodeTensors(own) });
    device.direct(serve(device));
    device.start();
    await device.live();
    expect((await device.store.get("own"))?.base).toBe("v1");
    expect((await device.own()).get("bias")?.data[2]).toBe(stays ? 0 : -50);
    globalThis.indexedDB = new IDBFactory();
  }
});
