import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { code } from "../testing/failing";
import { int8Form } from "../testing/golden";
import type { Manifest, ModelSpec } from "../wire/bundle";
import { fromBase64, sha256Hex, utf8 } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { FLOAT32, quantileS, totalOf } from "../wire/latency";
import { decodeFloats } from "../wire/tensors";
import type { Variants } from "../wire/variants";
import { type Around, chooseForm, latenciesOf, measureForm, measureForms } from "./forms";
import { Predictor } from "./predictor";

const WRITTEN = int8Form();
const MODEL: ModelSpec = { ...WRITTEN.model, own_loss: undefined, length: undefined };
const [PREDICT, FORM] = [fromBase64(WRITTEN.predict), fromBase64(WRITTEN.form)];
const RECEIVED = decodeFloats(fromBase64(WRITTEN.parameters), MODEL.parameters);
const XS: Float32Array[] = WRITTEN.x.map((x: number[]) => Float32Array.from(x));

const ref = (content: Uint8Array) => ({ sha256: sha256Hex(content), size_bytes: content.length });
const MANIFEST = { version: "v1", model: MODEL, predict: ref(PREDICT) } as unknown as Manifest;

const listing = (...forms: Uint8Array[]): Variants => ({
  protocol: 1,
  version: "v1",
  variants: forms.map((graph, at) => ({ name: `form_${at}`, graph: ref(graph) })),
});

function around(blobs: readonly Uint8Array[], stop = () => false): Around {
  const held = new Map([PREDICT, ...blobs].map((content) => [sha256Hex(content), content]));
  const part = async (sha256: string): Promise<Uint8Array> => {
    const found = held.get(sha256);
    if (found === undefined) throw new CodedError("bundle.missing", "it is not here");
    return found;
  };
  return { part, received: RECEIVED, frozen: new Map(), stop };
}

const furthest = (found: number[][], expected: number[][]): number =>
  Math.max(...found.flatMap((row, at) => row.map((one, place) => Math.abs(one - (expected[at]?.[place] ?? 1e9)))));

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

test("a form that holds its parameters gives the agent's outputs, and the version gives its own", async () => {
  const form = await Predictor.alone(FORM, MODEL);
  expect(furthest(await form.outputs(new Map(), XS), WRITTEN.form_outputs)).toBeLessThanOrEqual(WRITTEN.tolerance);
  await form.close();
  const whole = await Predictor.open(PREDICT, MODEL, new Map());
  expect(furthest(await whole.outputs(RECEIVED, XS), WRITTEN.outputs)).toBeLessThanOrEqual(1e-4);
  await whole.close();
});

test("each form that is listed is run and measured, and the version with them", async () => {
  const known = await measureForms(listing(FORM), "digest", MANIFEST, around([FORM]));
  expect(Object.keys(known?.forms ?? {})).toEqual([FLOAT32, "form_0"]);
  for (const counts of Object.values(known?.forms ?? {})) expect(totalOf(counts)).toBeGreaterThanOrEqual(5);
  expect(known).toMatchObject({ version: "v1", digest: "digest", refused: {} });
  expect(known?.graph).toEqual(known?.chosen === FLOAT32 ? null : ref(FORM));
});

test("a form that does not run here is passed over, and why is kept", async () => {
  const [broken, other] = [utf8("no graph"), PREDICT]; // which takes the parameters, too
  const known = await measureForms(listing(broken, other), "digest", MANIFEST, around([broken]));
  expect(Object.keys(known?.forms ?? {})).toEqual([FLOAT32]);
  expect(known).toMatchObject({ chosen: FLOAT32, graph: null });
  expect(known?.refused.form_0).toContain("does not load the graph");
  expect(known?.refused.form_1).toContain("the graph's inputs are not those that the manifest announces");
});

test("a part that is not here, and a stop, leave nothing behind", async () => {
  expect(await code(measureForms(listing(FORM), "digest", MANIFEST, around([])))).toBe("bundle.missing");
  expect(
    await measureForms(
      listing(FORM),
      "digest",
      MANIFEST,
      around([FORM], () => true),
    ),
  ).toBeNull();
});

/** A clock that only goes on while something runs, and by steps as coarse as a browser's. */
function timed(runS: number, grainS: number) {
  let [now, runs] = [0, 0];
  const run = async (): Promise<void> => {
    now += runS;
    runs += 1;
  };
  return { run, clock: () => Math.floor(now / grainS) * grainS, runs: () => runs };
}

test.each([
  { runS: 20e-6, grainS: 1e-4 },
  { runS: 4e-3, grainS: 1e-4 },
  { runS: 4e-3, grainS: 1e-6 },
])("a run of $runS s is measured as long as it takes by a clock of $grainS s", async ({ runS, grainS }) => {
  const { run, clock } = timed(runS, grainS);
  const counts = (await measureForm(run, () => false, clock)) ?? [];
  expect(totalOf(counts)).toBeGreaterThanOrEqual(200);
  expect(Math.abs((quantileS(counts, 0.5) ?? 0) / runS - 1)).toBeLessThan(0.2);
});

test("a slow form is measured in a few runs", async () => {
  const { run, clock, runs } = timed(3, 1e-3);
  const counts = (await measureForm(run, () => false, clock)) ?? [];
  expect(totalOf(counts)).toBe(5);
  expect(runs()).toBe(7);
});

const taking = (...seconds: number[]) => {
  const counts: number[] = [];
  for (const one of seconds) {
    const bucket = Math.floor(Math.log2(one * 1e6) * 4);
    while (counts.length <= bucket) counts.push(0);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts;
};

test("the most accurate form predicts that ends in time, else the quickest", () => {
  const [quick, slow, slower] = [taking(0.001), taking(0.03), taking(0.05)];
  expect(chooseForm({ float32: quick, int8: quick }, 0.01)).toBe("float32");
  expect(chooseForm({ float32: slow, int8: quick }, 0.01)).toBe("int8");
  expect(chooseForm({ float32: slower, int8: slow }, 0.01)).toBe("int8");
  expect(chooseForm({ float32: slow, int8: slower }, 0.01)).toBe("float32");
});

test("the platform is told shapes, under the form's name", () => {
  const known = {
    version: "v1",
    digest: "d",
    forms: { float32: [0, 0, 7], int8: [3], none: [] },
    refused: {},
    chosen: "int8",
    graph: null,
  };
  const conditions = { charging: "yes", network: "wifi", idle: "yes", temperature_c: null } as const;
  expect(latenciesOf(known, conditions)).toEqual([
    { version: "v1", work: "predict", form: "float32", durations: { counts: [0, 0, 1000] }, charging: "yes" },
    { version: "v1", work: "predict", form: "int8", durations: { counts: [1000] }, charging: "yes" },
  ]);
});
