import "fake-indexeddb/auto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { expect, test } from "vitest";
import { int8Form } from "../testing/golden";
import { fromBase64, sha256Hex, toBase64, utf8 } from "../wire/bytes";
import { PROTOCOL } from "../wire/messages";
import { Device } from "./device";
import type { Identity } from "./kept";
import { Store } from "./store";

const WRITTEN = int8Form();
const [PREDICT, PARAMETERS, FORM] = [WRITTEN.predict, WRITTEN.parameters, WRITTEN.form].map(fromBase64) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const XS: Float32Array[] = WRITTEN.x.map((x: number[]) => Float32Array.from(x));
const KEYS = ed25519.keygen();
const IDENTITY: Identity = {
  device: "d1",
  name: "kitchen",
  credential: "secret",
  platformKeys: { current: toBase64(KEYS.publicKey), former: [] },
  joinedAt: 0,
};
const CAPABILITIES = { cores: 1, memory_bytes: 0, machine: "Node", agent: "0", kinds: {} };

const ref = (content: Uint8Array) => ({ sha256: sha256Hex(content), size_bytes: content.length });
const furthest = (found: number[][], expected: number[][]): number =>
  Math.max(...found.flatMap((row, at) => row.map((one, place) => Math.abs(one - (expected[at]?.[place] ?? 1e9)))));

function signed() {
  const manifest = utf8(
    JSON.stringify({
      protocol: PROTOCOL,
      pair: "digits",
      version: "v1",
      number: 1,
      model: { ...WRITTEN.model, own_loss: undefined, length: undefined },
      labels: [],
      train_step: ref(PREDICT),
      predict: ref(PREDICT),
      parameters: ref(PARAMETERS),
    }),
  );
  return { manifest: toBase64(manifest), signature: toBase64(ed25519.sign(manifest, KEYS.secretKey)) };
}

/** A device that holds the version, and has chosen its int8 form. */
async function holding(): Promise<{ store: Store; device: Device; answers: () => Promise<number[][]> }> {
  const store = await Store.open();
  await store.put("model", signed());
  const all = [PREDICT, PARAMETERS, FORM];
  for (const content of all) await store.keepBlob(sha256Hex(content), content, new Set(all.map(sha256Hex)));
  const forms = { float32: [9], int8: [9] };
  await store.put("forms", { version: "v1", digest: "d", forms, refused: {}, chosen: "int8", graph: ref(FORM) });
  const device = new Device(IDENTITY, store, CAPABILITIES);
  device.situation.replace({ version: "v1", forms: "d" });
  const answers = async (): Promise<number[][]> => (await (await device.answering())?.outputs(XS)) ?? [];
  return { store, device, answers };
}

test("the chosen form answers, but never in place of a personal model, and the version where it is lost", async () => {
  const { store, device, answers } = await holding();
  expect(furthest(await answers(), WRITTEN.form_outputs)).toBeLessThanOrEqual(WRITTEN.tolerance);
  expect(furthest(await answers(), WRITTEN.outputs)).toBeGreaterThan(1e-3);

  await store.put("own", { base: "v1", federation: "f", tensors: PARAMETERS });
  expect(furthest(await answers(), WRITTEN.outputs)).toBeLessThanOrEqual(1e-4);
  await store.drop("own");

  await store.dropBlobs(sha256Hex(FORM));
  expect(furthest(await answers(), WRITTEN.outputs)).toBeLessThanOrEqual(1e-4);
  expect(await store.get("forms")).toBeNull();
  expect(device.situation.now.forms, "the platform is to name them again").toBe("");
});

test("a form of a version that is held no longer answers nothing", async () => {
  const { store, device, answers } = await holding();
  const forms = await store.get("forms");
  if (forms === null) throw new Error("it was put");
  await store.put("forms", { ...forms, version: "v0" });
  expect(furthest(await answers(), WRITTEN.outputs)).toBeLessThanOrEqual(1e-4);
  expect(await device.knownForms()).toBeNull();
});
