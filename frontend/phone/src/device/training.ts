/** One assignment, from the received parameters to the spooled update: a mirror of `coterie_agent.training.assignment`. */
import { makeBatch } from "../learning/batches";
import { ClientRound } from "../learning/client_round";
import { decodeState, encodeState } from "../learning/device_state";
import { drawnKey } from "../learning/noise";
import { type DevicePlan, parseDevicePlan } from "../learning/plan";
import type { Manifest, ModelSpec } from "../wire/bundle";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { Assignment } from "../wire/messages";
import type { Tensors } from "../wire/tensors";
import { partOf } from "./budget";
import type { Saved } from "./kept";
import { type ReadPart, withOpened } from "./opened";
import type { Predictor } from "./predictor";
import { nowS } from "./situation";
import type { Store } from "./store";

const CHECKPOINT_S = 5;
const TIMED_STEPS = 100;

/** Why training should stop: conditions are lost, or no more than the time to finish is left. */
export type Halt = "pause" | "enough" | null;

export interface Surroundings {
  readonly store: Store;
  readonly part: ReadPart;
  /** Called between steps with the seconds that finishing takes. */
  readonly halt: (finishingS: number) => Halt;
  /** Called with the steps done and in total. */
  readonly report: (done: number, total: number) => void;
}

/**
 * Whether the update is spooled; if not, training was paused and a checkpoint is kept.
 * Throws CodedError `plan.*`, `data.*`, `model.*`, `agent.*`, `tensors.*` or `update.*`.
 */
export async function train(assignment: Assignment, manifest: Manifest, around: Surroundings): Promise<boolean> {
  const { store, part, halt } = around;
  const { model } = manifest;
  const plan = parseDevicePlan(assignment.plan);
  const before = await store.get("saved");
  const ids = await store.sampleIds(before?.newest);
  if (ids.length === 0) {
    throw new CodedError("data.no_samples", "no samples are left on the device that the plan would learn from");
  }
  return withOpened(manifest, part, async ({ frozen, received, graph, predictor }) => {
    const lost = await lostOf(store, assignment.federation);
    const start = await withKeptPortions(store, assignment, model, received);
    const given = { plan, model, received, start, frozen, ids, seed: assignment.seed, secret: drawnKey(), lost };
    const client = new ClientRound(given, (feeds) => graph.run(feeds), before?.client ?? null);
    const begun = before ?? (await measured(predictor, received, client, ids, around));
    if (begun === null) return false;
    return await new Run(assignment, plan, client, predictor, around, begun).finish(ids);
  });

  async function measured(
    predictor: Predictor,
    version: Tensors,
    client: ClientRound,
    numbers: readonly number[],
    { store: samples }: Surroundings,
  ): Promise<Saved | null> {
    const started = nowS();
    const found = await predictor.measure(version, (some) => samples.load(some), {
      lossOf: numbers,
      accuracyOf: client.parts.heldOut,
      stop: () => halt(0) === "pause",
    });
    if (found === null) return null;
    return {
      newest: numbers.at(-1) as number,
      lossBefore: found.loss,
      accuracyBefore: found.accuracy,
      measureS: nowS() - started,
      trainS: 0,
      client: null,
    };
  }
}

/** What the round begins from: the version, with the portions of others that the device has kept since its last update. */
async function withKeptPortions(
  store: Store,
  { federation }: Assignment,
  model: ModelSpec,
  received: Tensors,
): Promise<Tensors> {
  const [portions, standing] = await Promise.all([store.get("portions"), store.get("standing")]);
  if (portions === null || standing?.federation !== federation) return received;
  const { withPortions } = await import("../learning/portions/payload"); // only now: most phones have none
  const { counts } = await store.held();
  return withPortions(
    received,
    model,
    portions,
    counts.flatMap((count, label) => (count > 0 ? [label] : [])),
  );
}

/** What the codec lost of the last accepted update; a damaged state is forgotten. */
async function lostOf(store: Store, federation: string): Promise<Tensors | null> {
  const blob = await store.state(federation);
  if (blob === null) return null;
  try {
    return decodeState(blob);
  } catch (error) {
    console.warn(`the state of ${federation} is forgotten: ${(error as Error).message}`);
    return null;
  }
}

class Run {
  private trainS: number;
  private readonly stepS: number[] = [];

  constructor(
    private readonly assignment: Assignment,
    private readonly plan: DevicePlan,
    private readonly client: ClientRound,
    private readonly predictor: Predictor,
    private readonly around: Surroundings,
    private readonly start: Saved,
  ) {
    this.trainS = start.trainS;
  }

  async finish(ids: readonly number[]): Promise<boolean> {
    const { client, around } = this;
    const isDone = await this.steps();
    const median = [...this.stepS].sort((a, b) => a - b)[Math.floor(this.stepS.length / 2)];
    if (median !== undefined) await around.store.put("train_step_s", median);
    if (!isDone) return false;
    if (client.stepsDone === 0) {
      throw new CodedError("agent.too_late", "the round closes before a first step could be finished");
    }
    const after = await this.predictor.measure(client.parameters(), (some) => around.store.load(some), {
      lossOf: ids,
      accuracyOf: [],
      stop: () => around.halt(0) === "pause",
    });
    if (after === null) {
      await this.save();
      return false;
    }
    const { update, samples } = client.finish();
    const spooled = {
      offer: {
        assignment: this.assignment.assignment,
        sha256: sha256Hex(update.payload),
        size_bytes: update.payload.length,
        samples,
        steps_done: client.stepsDone,
        steps_total: client.stepsTotal,
        loss_before: this.start.lossBefore,
        loss_after: after.loss,
        accuracy_before: this.start.accuracyBefore,
        train_s: this.trainS,
      },
      payload: update.payload,
      state: encodeState(update.residual),
      privacy: this.plan.privacy.sentence,
    };
    await around.store.spool(spooled, partOf(this.assignment, this.plan.privacy));
    return true;
  }

  /** Whether the steps are done, all or enough; if not, a checkpoint is kept. */
  private async steps(): Promise<boolean> {
    const { client, around } = this;
    let savedAt = nowS();
    for (let ids = client.wanted(); ids !== null; ids = client.wanted()) {
      const halt = around.halt(this.start.measureS);
      if (halt === "enough") {
        client.enough();
        continue;
      }
      if (halt === "pause") {
        await this.save();
        return false;
      }
      const started = nowS();
      const { model } = this;
      await client.learn(makeBatch(await around.store.load(ids), model, model.batch_size));
      const elapsed = nowS() - started;
      this.trainS += elapsed;
      this.stepS.push(elapsed);
      if (this.stepS.length > TIMED_STEPS) this.stepS.shift();
      around.report(client.stepsDone, client.stepsTotal);
      if (nowS() - savedAt >= CHECKPOINT_S) {
        await this.save();
        savedAt = nowS();
      }
      await otherTasks();
    }
    return true;
  }

  private get model() {
    return this.client.model;
  }

  private async save(): Promise<void> {
    await this.around.store.put("saved", { ...this.start, trainS: this.trainS, client: this.client.checkpoint() });
  }
}

/** Lets messages and timers have their turn: a step's promise alone would not. */
export function otherTasks(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
