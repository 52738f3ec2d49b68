import { expect, test } from "vitest";
import { goldenBytes, goldenJson } from "../testing/golden";
import { verifyManifest, versionOf } from "./bundle";
import { fromBase64 } from "./bytes";
import { CodedError } from "./errors";
import { Directive, decode, Enrolled, Problem, UploadState } from "./messages";
import { followed, pinned, trusted } from "./platform_keys";
import { decodeTensors, encodeTensors, readTensors } from "./tensors";
import { digestOf, verifyVariants } from "./variants";

const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const KEY = fromBase64(goldenJson("Enrolled.json").platform_key);
const SIGNED = {
  manifest: toBase64(goldenBytes("manifest.json")),
  signature: toBase64(goldenBytes("manifest.signature")),
};
const textOf = (name: string): string => JSON.stringify(goldenJson(name));
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof CodedError ? error.code : `${error}`;
  }
  return "no error";
};

test("replies of the platform are understood", () => {
  const directive = decode(Directive, textOf("Directive.json"));
  expect(directive.assignment).toMatchObject({ assignment: "a-1", round: 3, seed: 2 ** 40 + 17, remaining_s: 90.5 });
  expect(directive.requirements).toMatchObject({ idle: true, hours: [22, 6], unknown: "allow", max_temperature_c: 70 });
  expect(directive.wait?.code).toBe("round.needs_devices");
  expect(directive.trial?.candidate).toBe("v-8");
  expect(directive.help).toMatchObject({ state: "delivered", portion: { transfer: "t-1", remaining_s: 3600 } });
  expect(directive.serve).toMatchObject({ transfer: "t-2", classes: [2], remaining_s: 300 });
  expect(decode(Enrolled, textOf("Enrolled.json")).credential).toBe("secret");
  expect(decode(UploadState, textOf("UploadState.json"))).toEqual({ offset: 6, accepted: true });
  expect(decode(Problem, textOf("Problem.json")).status).toBe(404);
  expect(decode(Directive, '{"check_in_s":5,"a_later_field":1}').assignment).toBeNull();
});

test("a message that is none is refused with its code", () => {
  expect(codeOf(() => decode(Directive, "{"))).toBe("wire.malformed");
  expect(codeOf(() => decode(Directive, '{"check_in_s":-1}'))).toBe("wire.malformed");
  expect(codeOf(() => decode(Directive, " ".repeat((1 << 20) + 1)))).toBe("wire.too_large");
});

test("the platform's manifest verifies, and not with another byte, key or length", () => {
  const manifest = verifyManifest(SIGNED, KEY);
  expect(manifest).toMatchObject({ version: "v-7", labels: ["none", "eins", "zwölf"] });
  expect(versionOf(manifest.model).map(({ name }) => name)).toEqual(["fc.bias", "fc.weight"]);
  const flipped = fromBase64(SIGNED.manifest).map((byte, at) => (at === 40 ? byte ^ 1 : byte));
  const other = KEY.map((byte, at) => (at === 0 ? byte ^ 1 : byte));
  for (const [signed, key] of [
    [{ ...SIGNED, manifest: toBase64(flipped) }, KEY],
    [{ ...SIGNED, signature: toBase64(new Uint8Array(64)) }, KEY],
    [{ ...SIGNED, signature: "" }, KEY],
    [SIGNED, other],
    [SIGNED, new Uint8Array(32)],
  ] as const) {
    expect(codeOf(() => verifyManifest(signed, key))).toBe("bundle.bad_signature");
  }
});

test.each(["float32", "int8-channel", "int8-tensor"])("an update in %s is read and written byte for byte", (codec) => {
  const golden = goldenBytes(`update.${codec}.safetensors`);
  const { tensors, metadata } = readTensors(golden);
  expect(encodeTensors(tensors, metadata)).toEqual(golden);
});

test("tensor files that were changed anywhere in their heads are refused", () => {
  const golden = goldenBytes("update.float32.safetensors");
  const head = 8 + Number(new DataView(golden.buffer).getBigUint64(0, true));
  for (let at = 0; at < head; at++) {
    const changed = golden.map((byte, place) => (place === at ? byte ^ 1 : byte));
    const found = codeOf(() => decodeTensors(changed, verifyManifest(SIGNED, KEY).model.parameters));
    expect(["tensors.malformed", "tensors.wrong_shape", "no error"]).toContain(found);
    if (found === "no error") expect(readTensors(changed).metadata).not.toEqual(readTensors(golden).metadata);
  }
  expect(codeOf(() => readTensors(golden.subarray(0, golden.length - 1)))).toBe("tensors.malformed");
  expect(codeOf(() => readTensors(new Uint8Array([...golden, 0])))).toBe("tensors.malformed");
});

test("a tensor that is not finite is refused", () => {
  const file = encodeTensors(new Map([["a", { dtype: "float32", shape: [1], data: Float32Array.of(Number.NaN) }]]));
  expect(codeOf(() => decodeTensors(file, [{ name: "a", dtype: "float32", shape: [1] }]))).toBe("tensors.not_finite");
});

test("names that are numbers keep their place", () => {
  const one = (value: number) => ({ dtype: "float32" as const, shape: [1], data: Float32Array.of(value) });
  const file = encodeTensors(
    new Map([
      ["2", one(2)],
      ["10", one(10)],
      ["b", one(3)],
    ]),
  );
  expect([...readTensors(file).tensors].map(([name, { data }]) => [name, data[0]])).toEqual([
    ["10", 10],
    ["2", 2],
    ["b", 3],
  ]);
});

test("the key that the trusted one names takes its place, and a stranger's does not", () => {
  const { next_keys } = decode(Directive, textOf("Directive.json"));
  const start = { current: goldenJson("Enrolled.json").platform_key, former: [] };
  const keys = followed(start, next_keys);
  expect(trusted(keys, 1e9 - 1).map(toBase64)).toEqual([keys.current, start.current]);
  expect(trusted(keys, 1e9).map(toBase64)).toEqual([keys.current]);
  expect(pinned(keys)).toHaveLength(2);
  expect(followed(keys, next_keys)).toEqual(keys);
  const other = { current: toBase64(KEY.map((byte) => byte ^ 1)), former: [] };
  expect(codeOf(() => followed(other, next_keys))).toBe("bundle.bad_signature");
  expect(codeOf(() => verifyManifest(SIGNED, ...pinned(other)))).toBe("bundle.bad_signature");
  expect(verifyManifest(SIGNED, ...pinned(keys)).version).toBe("v-7");
});

test("a list of smaller forms verifies, and is known by the digest that the agent tells", () => {
  const { variants } = decode(Directive, textOf("Directive.json"));
  if (variants === null) throw new Error("the golden directive names forms");
  const listed = verifyVariants(variants, KEY);
  expect(listed).toMatchObject({ version: "v-7", variants: [{ name: "int8", graph: { size_bytes: 4 } }] });
  expect(digestOf(variants)).toBe(goldenJson("CheckIn.json").variants);
  expect(codeOf(() => verifyVariants({ ...variants, signature: toBase64(new Uint8Array(64)) }, KEY))).toBe(
    "bundle.bad_signature",
  );
  expect(codeOf(() => verifyVariants(SIGNED, KEY))).toBe("bundle.malformed");
  expect(codeOf(() => verifyManifest(variants, KEY))).toBe("bundle.malformed");
});
