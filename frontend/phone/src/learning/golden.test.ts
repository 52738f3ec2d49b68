import { expect, test } from "vitest";
import { goldenBytes, goldenJson, statesOf } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64 } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { decodeFloats } from "../wire/tensors";
import { decodeState, encodeState } from "./device_state";
import { BatchOrder, split } from "./order";
import { parseDevicePlan } from "./plan";
import { deriveSeed, epochOrder, permutation, randomBytes, stepSeed } from "./random";
import { makeUpdate } from "./update";

const VECTORS = goldenJson("client.json");
const RANDOM = goldenJson("random.json");
const MODEL: ModelSpec = goldenJson("manifest.json").model;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("random numbers are those of Python", () => {
  expect(RANDOM.paths.length).toBeGreaterThan(0);
  for (const { seed, path, seed_of_it, bytes, permutation_of_10 } of RANDOM.paths) {
    expect(hex(randomBytes(150, seed, ...path))).toBe(bytes);
    expect(deriveSeed(seed, ...path)).toBe(seed_of_it);
    expect(permutation(10, seed, ...path)).toEqual(permutation_of_10);
  }
  for (const { seed, step, seed_of_it } of RANDOM.steps) expect(stepSeed(seed, step)).toBe(seed_of_it);
  for (const { seed, epoch, order_of_10 } of RANDOM.epochs) expect(epochOrder(10, seed, epoch)).toEqual(order_of_10);
});

test("samples are divided and put in order as by Python", () => {
  for (const { ids, train, held_out } of VECTORS.splits) expect(split(ids)).toEqual({ train, heldOut: held_out });
  for (const { samples, seed, batch_size, step, ids } of VECTORS.batches) {
    const order = new BatchOrder(
      Array.from({ length: samples }, (_, at) => at),
      seed,
      batch_size,
    );
    expect(order.ids(step)).toEqual(ids);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.updates as any[])(
  "$name, seed $seed: the update and what is kept of it are those of Python, bit for bit",
  async (case_) => {
    const { plan, seed, received, trained, state, payload, state_after } = case_ as Record<string, string>;
    const tensors = (text: string) => decodeFloats(fromBase64(text), MODEL.parameters);
    const made = makeUpdate(tensors(received as string), tensors(trained as string), {
      plan: parseDevicePlan(plan),
      model: MODEL,
      states: statesOf(state),
      seed: Number(seed),
      secret: 0n,
      classes: [],
      steps: 3,
      loss: null,
    });
    expect(hex(made.payload)).toBe(hex(fromBase64(payload as string)));
    expect(hex(encodeState(made.states.codec))).toBe(hex(fromBase64(state_after as string)));
  },
);

test("golden payloads of the codecs are written bit for bit", () => {
  const update = decodeFloats(goldenBytes("update.float32.safetensors"), MODEL.parameters);
  for (const granularity of ["channel", "tensor"]) {
    const plan = { ...VECTORS.updates[0].plan, codec: { kind: "int8", granularity } };
    const { payload } = parseDevicePlan(plan).codec.encode(update, 2 ** 40 + 17);
    expect(hex(payload)).toBe(hex(goldenBytes(`update.int8-${granularity}.safetensors`)));
  }
});

test("a plan with a kind, a field or a value that the phone does not have is refused", () => {
  const [{ plan }] = VECTORS.updates;
  const code = (changed: object): string => {
    try {
      parseDevicePlan({ ...plan, ...changed });
    } catch (error) {
      return (error as CodedError).code;
    }
    return "no error";
  };
  expect(code({})).toBe("no error");
  expect(code({ codec: { kind: "of later" } })).toBe("plan.unknown_kind");
  expect(code({ help: { kind: "of later" } })).toBe("plan.unknown_kind");
  expect(code({ local: { kind: "sgd", mu: 1 } })).toBe("plan.invalid");
  expect(code({ local: { kind: "sgd", learning_rate: 0 } })).toBe("plan.invalid");
  expect(code({ of_later: true })).toBe("plan.invalid");
});

test("a state that was changed on the disk is found out", () => {
  const blob = encodeState({
    tensors: new Map([["delta.a", { dtype: "float32", shape: [2], data: Float32Array.of(1, 2) }]]),
    values: { round: 3 },
  });
  expect(decodeState(blob).values).toEqual({ round: 3 });
  expect(decodeState(blob).tensors.get("delta.a")?.data).toEqual(Float32Array.of(1, 2));
  expect(() => decodeState(blob.map((byte, at) => (at === blob.length - 1 ? byte ^ 1 : byte)))).toThrow(CodedError);
});
