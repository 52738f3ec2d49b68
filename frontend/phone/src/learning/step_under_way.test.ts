import { expect, test } from "vitest";
import { goldenJson } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64, sha256Hex, toBase64 } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { type AnyTensor, decodeFloats, encodeTensors, float32, type Tensor } from "../wire/tensors";
import type { Batch } from "./batches";
import { ClientRound } from "./client_round";
import { trainOutputs } from "./contract";
import type { RunStep } from "./optimisation";
import { parseDevicePlan } from "./plan";
import type { TrainingCheckpoint } from "./training";
import { NO_STATES } from "./update";

const VECTORS = goldenJson("gradients.json");
const MODEL: ModelSpec = VECTORS.model;
const RECEIVED = decodeFloats(fromBase64(VECTORS.received), MODEL.parameters);

/** The graph of the vectors: its gradient is the parameters times a number that batch and seed give. */
const runProducts: RunStep = async (feeds) => {
  const numberOf = (name: string): number => Number(feeds.get(name)?.data[0]);
  const { data: ids } = feeds.get("target") as AnyTensor;
  const targets = [...ids].reduce((sum: number, one) => sum + Number(one), 0);
  const slope = ((targets % 61) + (numberOf("seed") % 8)) / 64;
  const rate = numberOf("learning_rate");
  const next = [...trainOutputs(MODEL)].flatMap((output): [string, AnyTensor][] => {
    const carried = feeds.get(output.slice("next.".length)) as Tensor | undefined;
    if (!output.startsWith("next.") || carried === undefined) return [];
    const { shape, data } = carried;
    const isParameter = output.startsWith("next.param.");
    const moved = data.map((one) => (isParameter ? one - Math.fround(rate * Math.fround(slope * one)) : one + 1));
    return [[output, float32(shape, moved)]];
  });
  return new Map([["loss", float32([], Float32Array.of(1))], ...next]);
};

const clientOf = (plan: unknown, checkpoint: TrainingCheckpoint | null = null, runStep = runProducts): ClientRound => {
  const given = { plan: parseDevicePlan(plan), model: MODEL, received: RECEIVED, frozen: new Map(), ids: VECTORS.ids };
  const device = { seen: [0, 1, 2], seed: VECTORS.seed, secret: 0n, states: NO_STATES, personal: null };
  return new ClientRound({ ...given, ...device, server: new Map(), round: 1 }, runStep, checkpoint);
};

function batchOf(ids: readonly number[]): Batch {
  const at = Array.from({ length: MODEL.batch_size }, (_, place) => place);
  const target = BigInt64Array.from(at, (place) => BigInt(ids[place] ?? 0));
  const weight = Float32Array.from(at, (place) => Number(place < ids.length));
  return {
    inputs: new Map(MODEL.inputs.map(({ name, shape }) => [name, float32([MODEL.batch_size, ...shape])])),
    target: { dtype: "int64", shape: [MODEL.batch_size], data: target },
    sampleWeight: float32([MODEL.batch_size], weight),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.rounds as any[])(
  "under $plan.local batches, steps, checkpoints and the update are Python's, bit for bit",
  async ({ plan, runs, samples, update }) => {
    let client = clientOf(plan);
    for (const run of runs) {
      const wanted = client.training.wanted();
      expect(wanted).toEqual({ want: "learn", ids: run.ids });
      await client.training.learn(batchOf(run.ids));
      const checkpoint = client.training.checkpoint();
      expect(sha256Hex(checkpoint.optimisation.tensors)).toBe(run.checkpoint);
      client = clientOf(plan, checkpoint);
      expect(sha256Hex(encodeTensors(client.training.trained()))).toBe(run.parameters);
    }
    expect(client.training.wanted()).toBeNull();
    const made = client.finish(client.training.trained());
    expect(toBase64(made.update.payload)).toBe(update);
    expect(made.samples).toBe(samples);
  },
);

test("a step that diverges leaves the step under way as it was", async () => {
  const [{ plan, runs }] = VECTORS.rounds;
  const client = clientOf(plan);
  const [first, second] = runs;
  await client.training.learn(batchOf(first.ids));
  const before = client.training.checkpoint();
  const diverging = clientOf(plan, before, async () => new Map([["loss", float32([], Float32Array.of(Number.NaN))]]));
  await expect(diverging.training.learn(batchOf(second.ids))).rejects.toMatchObject({ code: "agent.diverged" });
  expect(diverging.training.checkpoint()).toEqual(before);
});

test("a checkpoint that lacks a gradient of the step under way is refused", async () => {
  const [{ plan, runs }] = VECTORS.rounds;
  const { training } = clientOf(plan);
  await training.learn(batchOf(runs[0].ids));
  const { optimisation, ...rest } = training.checkpoint();
  expect(() => clientOf(plan, { ...rest, optimisation: { ...optimisation, stepsDone: 2 } })).toThrow(CodedError);
});
