import { expect, test } from "vitest";
import { goldenJson, statesOf } from "../../testing/golden";
import type { ModelSpec } from "../../wire/bundle";
import { fromBase64, sha256Hex, toBase64 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import { decodeFloats, encodeTensors, type Tensors } from "../../wire/tensors";
import { decodeState, encodeState } from "../device_state";
import { renewed } from "../heads";
import { parseDevicePlan } from "../plan";
import { broadcastState } from "../server_state";
import { chosen } from "../subsets";
import { makeUpdate, NO_STATES } from "../update";
import { LOCAL } from ".";
import { personalLayers, WHOLE } from "./interface";

const VECTORS = goldenJson("local.json");
const MODEL: ModelSpec = goldenJson("manifest.json").model;
const tensors = (text: string): Tensors => decodeFloats(fromBase64(text), MODEL.parameters);

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.updates as any[])(
  "under $plan.local with a loss of $loss an update is Python's, bit for bit",
  (one) => {
    const made = makeUpdate(tensors(one.received), tensors(one.trained), {
      plan: parseDevicePlan(one.plan),
      model: MODEL,
      states: statesOf(one.state),
      seed: one.seed,
      secret: 0n,
      classes: [],
      steps: one.steps,
      loss: one.loss,
    });
    expect(toBase64(made.payload)).toBe(one.payload);
    expect(toBase64(encodeState(made.states.codec))).toBe(one.state_after);
  },
);

test("hyperparameters of FedNova that contradict one another are refused", () => {
  for (const wrong of [
    { momentum: 0.5, mu: 0.1 },
    { learning_rate: 2, mu: 0.6 },
  ]) {
    expect(() => LOCAL.parse({ kind: "fed_nova", ...wrong })).toThrow(CodedError);
  }
  expect(LOCAL.parse({ kind: "fed_nova", learning_rate: 2, mu: 0.5 }).scalars.proximal_weight).toBe(0.5);
});

const OF_CHAINS: ModelSpec = VECTORS.model;
const RECEIVED = decodeFloats(fromBase64(VECTORS.received), OF_CHAINS.parameters);
const TRAINED: Tensors[] = VECTORS.trained.map((text: string) => decodeFloats(fromBase64(text), OF_CHAINS.parameters));
const SERVER = broadcastState(fromBase64(VECTORS.state), OF_CHAINS.parameters);

// biome-ignore lint/suspicious/noExplicitAny: as above
test.each(VECTORS.chains as any[])(
  "under $plan.local, $plan.codec updates in succession and what is remembered are Python's, bit for bit",
  ({ plan, updates }) => {
    const parsed = parseDevicePlan(plan);
    let states = NO_STATES;
    for (const [number, one] of updates.entries()) {
      const broadcast = { server: one.has_server ? SERVER : new Map(), round: one.round };
      const anchor = parsed.local.begin({ ...broadcast, received: RECEIVED }, states.local).get("anchor");
      expect(anchor === undefined ? null : sha256Hex(encodeTensors(anchor))).toBe(one.anchor);
      const made = makeUpdate(RECEIVED, TRAINED[number] as Tensors, {
        plan: parsed,
        model: OF_CHAINS,
        states,
        seed: one.seed,
        secret: 0n,
        classes: [],
        steps: one.steps,
        loss: null,
        broadcast,
      });
      states = made.states;
      expect([made.payload.length, sha256Hex(made.payload)]).toEqual([one.size_bytes, one.payload]);
      expect(sha256Hex(encodeState(states.codec))).toBe(one.codec);
      expect(sha256Hex(encodeState(states.local))).toBe(one.local);
      expect(decodeState(encodeState(states.local))).toEqual(states.local);
    }
    expect(updates).toHaveLength(3);
  },
);

test("what the platform's merge remembers is read as by Python", () => {
  expect([...SERVER.keys()]).toEqual(Object.keys(VECTORS.server));
  for (const [kind, text] of Object.entries(VECTORS.server)) {
    expect(toBase64(encodeTensors(SERVER.get(kind) as Tensors))).toBe(text);
  }
  const others = OF_CHAINS.parameters.slice(1);
  expect(() => broadcastState(fromBase64(VECTORS.state), others)).toThrow(CodedError);
});

test("random subsets of parameters are Python's", () => {
  for (const { parameters, share, draw, chosen: expected } of VECTORS.subsets) {
    expect(chosen([{ name: "zwölf", shape: [parameters] }], share, draw).get("zwölf")).toEqual(expected);
  }
  expect(VECTORS.subsets).toHaveLength(5);
});

test("patterns of the names of layers that stay are Python's", () => {
  for (const { pattern, names, fit } of VECTORS.patterns) {
    const parameters = names.map((name: string) => ({ name, dtype: "float32", shape: [1] }));
    const model: ModelSpec = { ...OF_CHAINS, parameters, head: null };
    expect([...personalLayers({ ...WHOLE, personal: [pattern] }, model)].sort(), pattern).toEqual(fit);
  }
  expect(VECTORS.patterns.length).toBeGreaterThan(0);
});

test("of a version that has come the shared layers are taken over, as by Python", () => {
  for (const [personal, expected] of [
    ["head", VECTORS.renewed],
    ["*.bias", VECTORS.renewed_bias],
  ] as const) {
    const found = renewed(TRAINED[1] as Tensors, RECEIVED, OF_CHAINS, { ...WHOLE, personal: [personal] });
    expect(toBase64(encodeTensors(found))).toBe(expected);
  }
  expect(renewed(TRAINED[1] as Tensors, RECEIVED, OF_CHAINS, WHOLE)).toBe(TRAINED[1]);
});

test("FedRep trains the personal layers first and the shared ones then, FedPer both at once", () => {
  const of = (plan: object) => LOCAL.parse({ kind: "shared_body", ...plan });
  expect([0, 5, 6, 7].map((step) => of({ head_epochs: 2 }).frozenLayers(step, 3))).toEqual([
    "shared",
    "shared",
    "personal",
    "personal",
  ]);
  expect(of({}).frozenLayers(0, 3)).toBeNull();
  expect(() => of({ personal: " " })).toThrow(CodedError);
});
