import { expect, test } from "vitest";
import { makeBatch } from "../learning/batches";
import { ClientRound } from "../learning/client_round";
import { trainInputs, trainOutputs } from "../learning/contract";
import { parseDevicePlan } from "../learning/plan";
import { NO_STATES } from "../learning/update";
import { solvedRound } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { fromBase64 } from "../wire/bytes";
import { decodeFloats } from "../wire/tensors";
import { Graph } from "./graph";

const NATIVE = solvedRound();

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(NATIVE.rounds as any[])(
  "the sums of $name are the native agent's within the tolerance",
  async ({ model: written, train_step, received, x, y, update, samples, steps }) => {
    const model: ModelSpec = { ...written, own_loss: undefined, length: undefined };
    const graph = await Graph.open(fromBase64(train_step), trainInputs(model), trainOutputs(model));
    const given = {
      plan: parseDevicePlan(NATIVE.plan),
      model,
      received: decodeFloats(fromBase64(received), model.parameters),
      frozen: new Map(),
      ids: y.map((_: number, at: number) => at + 1) as number[],
      seen: [0, 1],
      seed: NATIVE.seed,
      secret: 0n,
      states: NO_STATES,
      server: new Map(),
      round: 1,
      personal: null,
    };
    const client = new ClientRound(given, (feeds) => graph.run(feeds));
    const { training } = client;
    for (let wanted = training.wanted(); wanted !== null; wanted = training.wanted()) {
      if (wanted.want !== "learn") throw new Error("nothing is judged");
      const rows = wanted.ids.map((id) => ({
        id,
        x: Float32Array.from(x[id - 1]),
        label: y[id - 1],
        target: new Float32Array(),
      }));
      await training.learn(makeBatch(rows, model, model.batch_size));
    }
    const made = client.finish(training.trained());
    expect({ samples: made.samples, steps: training.stepsDone }).toEqual({ samples, steps });
    const [sent, expected] = [made.update.payload, fromBase64(update)].map((file) =>
      decodeFloats(file, model.parameters),
    );
    for (const [name, { data }] of expected ?? []) {
      const own = sent?.get(name)?.data as Float32Array;
      const furthest = data.reduce((most, number, at) => Math.max(most, Math.abs(number - (own[at] as number))), 0);
      expect(furthest, name).toBeLessThanOrEqual(NATIVE.tolerance);
    }
  },
);
