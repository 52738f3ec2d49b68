import { deflateRaw, inflateRaw } from "pako";
import { expect, test } from "vitest";
import { goldenBytes, goldenJson } from "../../testing/golden";
import type { ModelSpec } from "../../wire/bundle";
import { sha256Hex } from "../../wire/bytes";
import type { CodedError } from "../../wire/errors";
import { type AnyTensor, decodeFloats, encodeTensors, float32, readTensors, type Tensors } from "../../wire/tensors";
import { CODEC, type Codec } from "../codec";
import { encodeState, NO_STATE, type State } from "../device_state";
import { exactSum } from "../exact_sum";
import { parseDevicePlan } from "../plan";
import { randomBytes } from "../random";
import { makeUpdate } from "../update";

const VECTORS = goldenJson("codecs.json");
const MODEL: ModelSpec = VECTORS.model;
const PARAMETERS = goldenJson("manifest.json").model.parameters;
const UPDATE = decodeFloats(goldenBytes("update.float32.safetensors"), PARAMETERS);

test.each(["int4", "top_k", "sparse_levels", "pruned", "one_bit"])(
  "the golden payload of %s is written bit for bit",
  (kind) => {
    const { payload } = CODEC.parse({ kind }).encode(UPDATE, 2 ** 40 + 17);
    expect(Buffer.from(payload).toString("hex")).toBe(
      Buffer.from(goldenBytes(`update.${kind}.safetensors`)).toString("hex"),
    );
  },
);

/** The numbers of the update of that number, as Python draws them. */
function numbersOf(number: number): Tensors {
  return new Map(
    MODEL.parameters.map(({ name, shape }) => {
      const size = shape.reduce((product, one) => product * one, 1);
      const drawn = new Uint16Array(randomBytes(2 * size, VECTORS.seed, "update", name, number).slice().buffer);
      const numbers = Float32Array.from(drawn, (one) => {
        const small = Math.fround((one - 32767.5) / 2 ** 15);
        return Math.fround(small * small) * small * Number(name !== VECTORS.quiet);
      });
      return [name, float32(shape, numbers)] as const;
    }),
  );
}

const ZEROS: Tensors = new Map(MODEL.parameters.map(({ name, shape }) => [name, float32(shape)]));
const NUMBERS = [0, 1].map(numbersOf);
const LOST = new Map<string, State>();

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.updates as any[])(
  "under $plan.codec update $number and what is kept of it are Python's, bit for bit",
  ({ plan, number, size_bytes, payload, state_after }) => {
    const key = JSON.stringify(plan);
    const made = makeUpdate(ZEROS, NUMBERS[number] as Tensors, {
      plan: parseDevicePlan(plan),
      model: MODEL,
      states: { local: NO_STATE, codec: LOST.get(key) ?? NO_STATE },
      seed: VECTORS.seed + number,
      secret: 0n,
      classes: [],
      steps: 3,
      loss: null,
    });
    LOST.set(key, made.states.codec);
    expect([made.payload.length, sha256Hex(made.payload)]).toEqual([size_bytes, payload]);
    expect(sha256Hex(encodeState(made.states.codec))).toBe(state_after);
  },
);

test("an int4 payload is read whatever has deflated it, and one that holds anything else is refused", () => {
  const codec = CODEC.parse({ kind: "int4" });
  const decode = (payload: Uint8Array): Tensors => (codec.decode as NonNullable<Codec["decode"]>)(payload, PARAMETERS);
  const payload = goldenBytes("update.int4.safetensors");
  const { residual } = codec.encode(UPDATE, 2 ** 40 + 17);
  const found = decode(payload);
  for (const [name, { data }] of UPDATE) {
    const lost = residual.get(name)?.data as Float32Array;
    for (const [at, number] of data.entries()) {
      expect(found.get(name)?.data[at]).toBeCloseTo(number - (lost[at] as number), 5);
    }
  }
  const { tensors, metadata } = readTensors(payload);
  const [name, { data }] = [...tensors].find(([one]) => one.startsWith("codes.")) as [string, AnyTensor];
  const raw = inflateRaw(data as Uint8Array);
  const rewritten = (content: Uint8Array): Uint8Array => {
    const stream = deflateRaw(content, { level: 1 });
    const streams = new Map<string, AnyTensor>([
      ["sizes", { dtype: "int32", shape: [1, 1], data: Int32Array.of(stream.length) }],
      [name, { dtype: "uint8", shape: [stream.length], data: stream }],
    ]);
    return encodeTensors(new Map([...tensors, ...streams]), metadata);
  };
  expect(decode(rewritten(raw))).toEqual(found);
  const last = raw.map((byte, at) => (at === raw.length - 1 ? byte | 0x70 : byte));
  const code = (wrong: Uint8Array): string => {
    try {
      decode(wrong);
    } catch (error) {
      return (error as CodedError).code;
    }
    return "no error";
  };
  const wrong = [rewritten(raw.subarray(1)), rewritten(Uint8Array.from([...raw, 0])), rewritten(last)];
  for (const one of wrong) expect(code(one)).toBe("update.malformed");
  const stream = (data as Uint8Array).map((byte) => byte ^ 0xff);
  const broken = new Map<string, AnyTensor>([
    ...tensors,
    [name, { dtype: "uint8", shape: [stream.length], data: stream }],
  ]);
  expect(code(encodeTensors(broken, metadata))).toBe("update.malformed");
  const short = new Map<string, AnyTensor>([
    ...tensors,
    ["sizes", { dtype: "int32", shape: [1, 1], data: Int32Array.of(1) }],
  ]);
  expect(code(encodeTensors(short, metadata))).toBe("update.malformed");
  expect(code(goldenBytes("update.top_k.safetensors"))).toBe("update.wrong_codec");
});

test("an update that is not finite is refused by every codec", () => {
  const wrong = new Map([["a", float32([2], Float32Array.of(1, Number.NaN))]]);
  for (const kind of CODEC.names) {
    expect(() => CODEC.parse({ kind }).encode(wrong, 1)).toThrow(/not finite/);
  }
  expect(CODEC.names).toHaveLength(7);
});

test("a sum is rounded once", () => {
  expect(exactSum([1e16, 1, 1, -1e16])).toBe(2);
  expect(exactSum([1, 2 ** -53, 2 ** -106])).toBe(1 + 2 ** -52);
  expect(exactSum([1, 2 ** -53, -(2 ** -106)])).toBe(1);
  expect(exactSum([])).toBe(0);
  expect(exactSum([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])).toBe(1);
});
