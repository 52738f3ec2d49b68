import { expect, test } from "vitest";
import { makeBatch, type Sample } from "../learning/batches";
import { ClientRound, type Given } from "../learning/client_round";
import { trainInputs, trainOutputs } from "../learning/contract";
import type { Measured } from "../learning/metrics";
import type { PersonalRules } from "../learning/personal";
import { choose, personalTraining } from "../learning/personal/training";
import { parseDevicePlan } from "../learning/plan";
import { modelOf, restoreWeights, storedProbabilities, type Teacher, taught } from "../learning/teacher";
import type { Training, TrainingCheckpoint } from "../learning/training";
import { NO_STATES, type States } from "../learning/update";
import { nativeRound } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64 } from "../wire/bytes";
import { decodeFloats, encodeTensors, float32, readTensors, type Tensor, type Tensors } from "../wire/tensors";
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

const graphOf = (): Promise<Graph> =>
  Graph.open(fromBase64(NATIVE.train_step), trainInputs(MODEL), trainOutputs(MODEL));
const predictorOf = (): Promise<Predictor> => Predictor.open(fromBase64(NATIVE.predict), MODEL, new Map());

async function clientOf(
  plan: unknown,
  checkpoint: TrainingCheckpoint | null = null,
  more: Partial<Given> = {},
): Promise<ClientRound> {
  const graph = await graphOf();
  const given = { plan: parseDevicePlan(plan), model: MODEL, received: RECEIVED, frozen: new Map() };
  const rest = { ids: IDS, seen: [0, 1, 2], seed: NATIVE.seed, secret: 0n, personal: null };
  const before = { states: NO_STATES, server: new Map(), round: 1 };
  return new ClientRound({ ...given, ...rest, ...before, ...more }, (feeds) => graph.run(feeds), checkpoint);
}

type Answers = (ids: readonly number[]) => Float32Array | null;

/** Until the end, or `most` steps; the losses on the samples held out. */
async function learn(training: Training, most = Number.POSITIVE_INFINITY, answers: Answers = () => null) {
  const [losses, predictor]: [number[], Predictor] = [[], await predictorOf()];
  for (let next = training.wanted(); next !== null && training.stepsDone < most; next = training.wanted()) {
    if (next.want === "learn") {
      await training.learn(makeBatch(await load(next.ids), MODEL, MODEL.batch_size), answers(next.ids));
      continue;
    }
    const found = await predictor.each(next.parameters, load, next.ids, () => false);
    losses.push((found?.losses ?? []).reduce((sum, one) => sum + one, 0) / next.ids.length);
    training.judged(next.parameters, losses.at(-1) as number);
  }
  return losses;
}

/** How far the numbers of two tensor files are apart at most, and how many there are. */
function apart(one: Uint8Array, other: Uint8Array): { furthest: number; numbers: number } {
  const others = readTensors(other).tensors;
  let [furthest, numbers] = [0, 0];
  for (const [name, { data }] of readTensors(one).tensors) {
    for (const [at, number] of data.entries()) {
      furthest = Math.max(furthest, Math.abs(Number(number) - Number(others.get(name)?.data[at])));
      numbers += 1;
    }
  }
  return { furthest, numbers };
}

/** The tensor files of an update, one after the other. */
function filesOf(payload: Uint8Array): Uint8Array[] {
  if (payload.length === 0) return [];
  const size = 8 + Number(new DataView(payload.buffer, payload.byteOffset).getBigUint64(0, true));
  const head: Record<string, { data_offsets?: [number, number] }> = JSON.parse(
    new TextDecoder().decode(payload.subarray(8, size)),
  );
  const end = size + Math.max(...Object.values(head).map(({ data_offsets }) => data_offsets?.[1] ?? 0));
  return [payload.slice(0, end), ...filesOf(payload.slice(end))];
}

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(NATIVE.rounds as any[])(
  "a round of $name gives the update of the native agent within the tolerance",
  async (round) => {
    const client = await clientOf(round.plan);
    await learn(client.training);
    const { update, samples } = client.finish(client.training.trained());
    expect({ samples, steps: client.training.stepsDone }).toEqual({ samples: round.samples, steps: round.steps });
    const { furthest, numbers } = apart(update.payload, fromBase64(round.update));
    expect(numbers).toBe(15);
    expect(furthest).toBeLessThanOrEqual(NATIVE.tolerance);
  },
);

// biome-ignore lint/suspicious/noExplicitAny: as above
test.each(NATIVE.successive as any[])(
  "two rounds of $name in succession are the native agent's within the tolerance, also after a pause",
  async ({ plan, rounds }) => {
    const decoded = (text: string): Tensors => decodeFloats(fromBase64(text), MODEL.parameters);
    const server = new Map(Object.entries<string>(NATIVE.server).map(([kind, text]) => [kind, decoded(text)]));
    let [states, personal]: [States, Tensors | null] = [NO_STATES, null];
    for (const [number, one] of rounds.entries()) {
      const more = {
        states,
        personal,
        seed: NATIVE.seed + number,
        round: number + 1,
        ...(number === 0 ? {} : { received: decoded(NATIVE.later), server }),
      };
      const stopped = await clientOf(plan, null, more);
      await learn(stopped.training, 10);
      const client: ClientRound = await clientOf(plan, stopped.training.checkpoint(), more);
      await learn(client.training);
      const trained = client.training.trained();
      expect(apart(encodeTensors(trained), fromBase64(one.trained)).furthest).toBeLessThanOrEqual(NATIVE.tolerance);
      const { update, samples } = client.finish(trained);
      expect({ samples, steps: client.training.stepsDone }).toEqual({ samples: one.samples, steps: one.steps });
      const [sent, expected] = [update.payload, fromBase64(one.update)].map(filesOf) as [Uint8Array[], Uint8Array[]];
      expect(sent.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
      for (const [at, file] of sent.entries()) {
        expect(apart(file, expected[at] as Uint8Array).furthest).toBeLessThanOrEqual(NATIVE.tolerance);
      }
      const remembered = apart(encodeTensors(update.states.local.tensors), fromBase64(one.remembered));
      expect(remembered.furthest).toBeLessThanOrEqual(NATIVE.tolerance);
      expect(remembered.numbers).toBe(update.states.local.tensors.size > 0 ? 15 : 0);
      states = update.states;
      if (parseDevicePlan(plan).local.trainsPersonalModel) personal = trained;
    }
  },
);

test("rounds that learn from the cloud model are the native agent's within the tolerance", async () => {
  const { distill, tolerance, predict } = NATIVE;
  const teacher = { inputs: MODEL.inputs, classes: 3, parameters: MODEL.parameters } as Teacher;
  const spec = modelOf(teacher, MODEL);
  const asked = await Predictor.open(fromBase64(predict), spec, new Map());
  const weights = restoreWeights(fromBase64(distill.weights), MODEL.parameters);
  const outputs = await asked.outputs(
    weights,
    (await load(IDS)).map(({ x }) => x),
  );
  const stored = outputs.map(storedProbabilities);
  let personal: Tensors | null = null;
  for (const round of distill.rounds) {
    const client: ClientRound = await clientOf(distill.plan, null, { ids: round.ids, seen: round.seen, personal });
    const { training } = client;
    const losses = await learn(training, Number.POSITIVE_INFINITY, (ids) =>
      taught(
        ids.map((id) => stored[id - 1] as Uint16Array),
        training.classes,
      ),
    );
    expect([losses.length, training.stepsDone]).toEqual([round.losses.length, round.steps]);
    for (const [at, loss] of losses.entries()) expect(Math.abs(loss - round.losses[at])).toBeLessThanOrEqual(tolerance);
    personal = training.trained();
    expect(apart(encodeTensors(personal), fromBase64(round.trained)).furthest).toBeLessThanOrEqual(tolerance);
    const { update, samples } = client.finish(personal);
    expect(samples).toBe(round.samples);
    const { furthest, numbers } = apart(update.payload, fromBase64(round.update));
    expect([numbers, furthest <= tolerance]).toEqual([5 * round.seen.length, true]);
  }
});

test("a round that begins from portions of others tells what they changed, too", async () => {
  const [{ plan }] = NATIVE.rounds;
  const changed = ({ shape, data }: Tensor): Tensor => ({
    dtype: "float32",
    shape,
    data: data.map((one) => one + 0.5),
  });
  const start = new Map([...RECEIVED].map(([name, tensor]) => [name, changed(tensor)]));
  const client = await clientOf(plan, null, { start });
  const { update } = client.finish(client.training.trained());
  for (const [name, { data }] of readTensors(update.payload).tensors) {
    const [before, after] = [RECEIVED, start].map((one) => one.get(name)?.data as Float32Array);
    expect(data).toEqual(after?.map((one, at) => one - (before?.[at] as number)));
  }
});

// biome-ignore lint/suspicious/noExplicitAny: as above
test.each(NATIVE.rounds as any[])(
  "a round of $name that is resumed gives the same bits as one that never stopped",
  async ({ plan }) => {
    const [whole, stopped] = await Promise.all([clientOf(plan), clientOf(plan)]);
    await learn(whole.training);
    await learn(stopped.training, 11);
    const resumed = await clientOf(plan, stopped.training.checkpoint());
    expect(resumed.training.stepsDone).toBe(11);
    await learn(resumed.training);
    const [one, other] = [resumed, whole].map((client) => client.finish(client.training.trained()).update.payload);
    expect(one).toEqual(other);
  },
);

test("a round that stops early keeps its classes and its best epoch when it is resumed", async () => {
  const { plan } = NATIVE.distill;
  const own = { ...plan, local: { ...plan.local, lambda_d: 1 } };
  const [whole, stopped] = await Promise.all([1, 2].map(() => clientOf(own, null, { seen: [0, 2] })));
  await learn((whole as ClientRound).training);
  await learn((stopped as ClientRound).training, 30);
  const resumed = await clientOf(own, (stopped as ClientRound).training.checkpoint(), { seen: [0, 1, 2] });
  expect(resumed.training.classes).toEqual([0, 2]);
  await learn(resumed.training);
  expect(resumed.training.trained()).toEqual((whole as ClientRound).training.trained());
});

test("under q-FedAvg the version's loss is asked for first, over the samples trained on, and is kept", async () => {
  const [{ plan }] = NATIVE.rounds;
  const fair = { ...plan, local: { kind: "q_fed_avg", epochs: 1 } };
  const { training, begun } = await clientOf(fair);
  const { train } = training.parts;
  expect(training.wanted()).toEqual({ want: "judge", parameters: begun, ids: train });
  training.judged(begun, 0.5);
  expect(training.wanted()?.want).toBe("learn");
  const resumed = await clientOf(fair, training.checkpoint());
  await learn(resumed.training);
  const { update } = resumed.finish(resumed.training.trained());
  const one = float32([]);
  const size = encodeTensors(new Map(Object.entries({ weight: one, curvature: one }))).length;
  const { tensors } = readTensors(update.payload.subarray(-size));
  expect(tensors.get("weight")?.data[0]).toBe(0.5);
  expect(Number(tensors.get("curvature")?.data[0])).toBeGreaterThan(0.5);
});

test("a plan that needs steps along the gradient is refused where the model's are adaptive", async () => {
  const [{ plan }] = NATIVE.rounds;
  const adaptive = { ...MODEL, scalars: [...MODEL.scalars, "step"] };
  const nova = { ...plan, local: { kind: "fed_nova" } };
  await expect(clientOf(nova, null, { model: adaptive })).rejects.toMatchObject({ code: "plan.does_not_fit" });
});

async function personalOf(checkpoint: TrainingCheckpoint | null = null, which = "personal"): Promise<Training> {
  const graph = await graphOf();
  const rules = parseDevicePlan(NATIVE[which].plan).personal as PersonalRules;
  const personal = which === "ditto" ? decodeFloats(fromBase64(NATIVE.own), MODEL.parameters) : null;
  const given = { rules, model: MODEL, received: RECEIVED, personal, frozen: new Map(), ids: IDS, seed: NATIVE.seed };
  return personalTraining(given, (feeds) => graph.run(feeds), checkpoint);
}

test.each(["personal", "ditto"])(
  "a personal model (%s) is that of the native agent within the tolerance, and stops at the same epoch",
  async (which) => {
    const { tolerance, [which]: personal } = NATIVE;
    const predictor = await predictorOf();
    const training = await personalOf(null, which);
    const losses = await learn(training);
    expect(training.parts.heldOut).toEqual(personal.held_out);
    expect([losses.length, training.stepsDone]).toEqual([personal.losses.length, personal.steps]);
    for (const [at, loss] of losses.entries())
      expect(Math.abs(loss - personal.losses[at])).toBeLessThanOrEqual(tolerance);
    const trained = training.trained();
    expect(apart(encodeTensors(trained), fromBase64(personal.trained)).furthest).toBeLessThanOrEqual(tolerance);
    const [version, own] = await Promise.all(
      [RECEIVED, trained].map((one) => predictor.each(one, load, training.parts.heldOut, () => false)),
    );
    expect(choose(version as Measured, own as Measured, null, false).answers).toBe(personal.answers);
  },
);

test("a personal model's training that is resumed gives the same bits as one that never stopped", async () => {
  const whole = await personalOf();
  await learn(whole);
  const stopped = await personalOf();
  await learn(stopped, 20);
  const resumed = await personalOf(stopped.checkpoint());
  expect(resumed.stepsDone).toBe(20);
  await learn(resumed);
  expect(resumed.trained()).toEqual(whole.trained());
});

test("loss and accuracy are those of the native agent", async () => {
  const predictor = await predictorOf();
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
