import { expect, test } from "vitest";
import { goldenJson } from "../../testing/golden";
import type { ModelSpec } from "../../wire/bundle";
import { fromBase64, toBase64 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import { decodeFloats, type Tensors } from "../../wire/tensors";
import { decodeState, encodeState } from "../device_state";
import { parseDevicePlan } from "../plan";
import { makeUpdate } from "../update";
import { LOCAL } from ".";

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
      lost: one.state === null ? null : decodeState(fromBase64(one.state)),
      seed: one.seed,
      secret: 0n,
      classes: [],
      steps: one.steps,
      loss: one.loss,
    });
    expect(toBase64(made.payload)).toBe(one.payload);
    expect(toBase64(encodeState(made.residual))).toBe(one.state_after);
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
