import { expect, test } from "vitest";
import { makeBatch, type Sample } from "../learning/batches";
import { ClientRound } from "../learning/client_round";
import { trainInputs, trainOutputs } from "../learning/contract";
import type { Measured } from "../learning/metrics";
import type { Checkpoint } from "../learning/optimisation";
import type { PersonalRules } from "../learning/personal";
import { choose, type PersonalCheckpoint, PersonalTraining } from "../learning/personal/training";
import { parseDevicePlan } from "../learning/plan";
import { nativeRound } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64 } from "../wire/bytes";
import { decodeFloats, readTensors } from "../wire/tensors";
import { Graph } from "./graph";
import { Predictor } from "./predictor";

const NATIVE = nativeRound();
const MODEL: ModelSpec = { ...NATIVE.model, own_loss: undefined, length: undefined };
const RECEIVED = decodeFloats(fromBase64(NATIVE.received), MODEL.parameters);
const IDS = NATIVE.x.map((_: unknown, at: number) => at + 1) as number[];
const load = async (ids: readonly number[]): Promise<Sample[]> =>
  ids.map((id) => ({
    id,
    x: Float32Array.from(NATIVE.x[id - 1]),
    label: NATIVE.y[id - 1],
    target: new Float32Array(),
  }));

async function clientOf(plan: unknown, checkpoint: Checkpoint | null = null): Promise<ClientRound> {
  const graph = await Graph.open(fromBase64(NATIVE.train_step), trainInputs(MODEL), trainOutputs(MODEL));
  const given = { plan: parseDevicePlan(plan), model: MODEL, received: RECEIVED, frozen: new Map(), lost: null };
  return new ClientRound(
    { ...given, ids: IDS, seed: NATIVE.seed, secret: 0n },
    (feeds) => graph.run(feeds),
    checkpoint,
  );
}

async function learn(client: ClientRound, most = Number.POSITIVE_INFINITY): Promise<void> {
  for (let ids = client.wanted(); ids !== null && client.stepsDone < most; ids = client.wanted()) {
    await client.learn(makeBatch(await load(ids), MODEL, MODEL.batch_size));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(NATIVE.rounds as any[])(
  "a round of $name gives the update of the native agent within the tolerance",
  async (round) => {
    const client = await clientOf(round.plan);
    await learn(client);
    const { update, samples } = client.finish();
    expect({ samples, steps: client.stepsDone }).toEqual({ samples: round.samples, steps: round.steps });
    const native = readTensors(fromBase64(round.update)).tensors;
    let [furthest, numbers] = [0, 0];
    for (const [name, { data }] of readTensors(update.payload).tensors) {
      for (const [at, number] of data.entries()) {
        furthest = Math.max(furthest, Math.abs(Number(number) - Number(native.get(name)?.data[at])));
        numbers += 1;
      }
    }
    expect(numbers).toBe(15);
    expect(furthest).toBeLessThanOrEqual(NATIVE.tolerance);
  },
);

test("a round that is resumed from a checkpoint gives the same bits as one that never stopped", async () => {
  const [{ plan }] = NATIVE.rounds;
  const whole = await clientOf(plan);
  await learn(whole);
  const stopped = await clientOf(plan);
  await learn(stopped, 11);
  const resumed = await clientOf(plan, stopped.checkpoint());
  expect(resumed.stepsDone).toBe(11);
  await learn(resumed);
  expect(resumed.finish().update.payload).toEqual(whole.finish().update.payload);
});

async function personalOf(checkpoint: PersonalCheckpoint | null = null): Promise<PersonalTraining> {
  const graph = await Graph.open(fromBase64(NATIVE.train_step), trainInputs(MODEL), trainOutputs(MODEL));
  const rules = parseDevicePlan(NATIVE.personal.plan).personal as PersonalRules;
  const given = { rules, model: MODEL, received: RECEIVED, frozen: new Map(), ids: IDS, seed: NATIVE.seed };
  return new PersonalTraining(given, (feeds) => graph.run(feeds), checkpoint);
}

/** Until the end, or `most` steps; the losses on the samples held out. */
async function tune(training: PersonalTraining, predictor: Predictor, most = Number.POSITIVE_INFINITY) {
  const losses: number[] = [];
  for (let next = training.wanted(); next !== null && training.stepsDone < most; next = training.wanted()) {
    if (next.want === "learn") {
      await training.learn(makeBatch(await load(next.ids), MODEL, MODEL.batch_size));
      continue;
    }
    const found = await predictor.each(next.parameters, load, next.ids, () => false);
    losses.push((found?.losses ?? []).reduce((sum, one) => sum + one, 0) / next.ids.length);
    training.judged(next.parameters, losses.at(-1) as number);
  }
  return losses;
}

test("a personal model is that of the native agent within the tolerance, and stops at the same epoch", async () => {
  const { personal, tolerance } = NATIVE;
  const predictor = await Predictor.open(fromBase64(NATIVE.predict), MODEL, new Map());
  const training = await personalOf();
  const losses = await tune(training, predictor);
  expect(training.parts.heldOut).toEqual(personal.held_out);
  expect([losses.length, training.stepsDone]).toEqual([personal.losses.length, personal.steps]);
  for (const [at, loss] of losses.entries())
    expect(Math.abs(loss - personal.losses[at])).toBeLessThanOrEqual(tolerance);
  const native = decodeFloats(fromBase64(personal.trained), MODEL.parameters);
  const trained = training.trained();
  for (const [name, { data }] of native) {
    for (const [at, number] of data.entries()) {
      expect(Math.abs(number - Number(trained.get(name)?.data[at]))).toBeLessThanOrEqual(tolerance);
    }
  }
  const [version, own] = await Promise.all(
    [RECEIVED, trained].map((one) => predictor.each(one, load, training.parts.heldOut, () => false)),
  );
  expect(choose(version as Measured, own as Measured, null, false).answers).toBe(personal.answers);
});

test("a personal model's training that is resumed gives the same bits as one that never stopped", async () => {
  const predictor = await Predictor.open(fromBase64(NATIVE.predict), MODEL, new Map());
  const whole = await personalOf();
  await tune(whole, predictor);
  const stopped = await personalOf();
  await tune(stopped, predictor, 20);
  const resumed = await personalOf(stopped.checkpoint());
  expect(resumed.stepsDone).toBe(20);
  await tune(resumed, predictor);
  expect(resumed.trained()).toEqual(whole.trained());
});

test("loss and accuracy are those of the native agent", async () => {
  const predictor = await Predictor.open(fromBase64(NATIVE.predict), MODEL, new Map());
  const found = await predictor.measure(RECEIVED, load, { lossOf: IDS, accuracyOf: IDS, stop: () => false });
  expect(Math.abs((found?.loss ?? 0) - NATIVE.loss_before)).toBeLessThanOrEqual(NATIVE.tolerance);
  expect(found?.accuracy).toBeCloseTo(NATIVE.accuracy_before, 12);
});

test("a graph with other inputs than the manifest announces is refused", async () => {
  const wrong = new Set([...trainInputs(MODEL), "more"]);
  await expect(Graph.open(fromBase64(NATIVE.train_step), wrong, trainOutputs(MODEL))).rejects.toMatchObject({
    code: "model.contract",
  });
});
