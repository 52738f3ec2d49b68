/**
 * Training between rounds, and the evaluation of each batch before it is trained on: a mirror of
 * `coterie_agent.peers.local_training` and `.reading`.
 */
import { makeBatch } from "../../learning/batches";
import { NO_STATE } from "../../learning/device_state";
import { TrainedPart } from "../../learning/heads";
import { stepsOf } from "../../learning/local/interface";
import { Optimisation, type RunStep } from "../../learning/optimisation";
import { stepsPerEpoch } from "../../learning/order";
import { watched } from "../../learning/watch";
import { classesOf } from "../../wire/bundle";
import { CodedError } from "../../wire/errors";
import { type AnyTensor, encodeTensors, type Tensor, type Tensors } from "../../wire/tensors";
import type { Reading } from "../kept";
import { withOpened } from "../opened";
import { otherTasks } from "../other_tasks";
import type { Predictor } from "../predictor";
import { begunReading, nextBatch, trainable, watchOf } from "../reading";
import { nowS } from "../situation";
import { type Membership, ownParameters, predicted, write } from "./membership";

/** Seconds of training after which the parameters are kept. */
const AT_A_TIME_S = 0.5;

/** The reading as it is kept, or one that begins. */
export const readingOf = async ({ store }: Membership): Promise<Reading> =>
  (await store.get("reading")) ?? begunReading(await store.sampleIds());

/** Whether there is a whole batch to evaluate or to train on. */
export async function hasToLearn(membership: Membership): Promise<boolean> {
  const [ids, reading] = await Promise.all([membership.store.sampleIds(), readingOf(membership)]);
  return toTrain(membership, ids, reading).length > 0 || toJudge(membership, ids, reading).length > 0;
}

/**
 * Train on what was evaluated and evaluate what is new, batch by batch, until nothing is due, it must stop, or
 * `hasToTell` says after a batch that something is to be told. Throws CodedError `data.*`, `model.*` or `tensors.*`.
 */
export async function learn(membership: Membership, hasToTell: () => Promise<boolean>): Promise<void> {
  const { manifest, plan, part, store, mustStop } = membership;
  const own = await ownParameters(membership);
  const { counts } = await store.held();
  const seen = [...counts.keys()].filter((label) => (counts[label] as number) > 0);
  const trained = TrainedPart.ofDevice(manifest.model, plan.local.scope, seen);
  await withOpened(manifest, part, async ({ frozen, received, graph, predictor }) => {
    const begin = (parameters: Tensors): Tensors => trained.goOn(parameters, received);
    const runStep: RunStep = (feeds) => graph.run(feeds);
    const kept = trained.kept.bind(trained);
    const learner = new Learner(membership, own, { begin, kept }, runStep, frozen, predictor);
    while (!mustStop() && (await learner.next())) {
      if (await hasToTell()) return;
      await otherTasks();
    }
  });
}

function toTrain(membership: Membership, ids: readonly number[], reading: Reading): readonly number[] {
  const { plan, manifest } = membership;
  const size = manifest.model.batch_size;
  const { aloneEveryS } = plan;
  const sinceMs = Date.now() - reading.trainedAt;
  if (aloneEveryS === null || (sinceMs >= 0 && sinceMs < 1000 * aloneEveryS)) return [];
  const upTo = plan.help === null ? Number.POSITIVE_INFINITY : trainable(ids, reading, plan.sparesNewest, size);
  return nextBatch(ids, reading.trained, upTo, size);
}

const toJudge = ({ plan, manifest }: Membership, ids: readonly number[], { judged }: Reading): readonly number[] =>
  plan.help === null ? [] : nextBatch(ids, judged, Number.POSITIVE_INFINITY, manifest.model.batch_size);

interface TrainedTensors {
  /** What training begins from with such parameters of the device's own. */
  readonly begin: (own: Tensors) => Tensors;
  /** Names of those that a step does not change. */
  readonly kept: TrainedPart["kept"];
}

class Learner {
  constructor(
    private readonly membership: Membership,
    private own: Tensors,
    private readonly trained: TrainedTensors,
    private readonly runStep: RunStep,
    private readonly frozen: ReadonlyMap<string, AnyTensor>,
    private readonly predictor: Predictor,
  ) {}

  /** Whether anything was learned or evaluated, and kept. */
  async next(): Promise<boolean> {
    const [ids, reading] = await Promise.all([this.membership.store.sampleIds(), readingOf(this.membership)]);
    if (toTrain(this.membership, ids, reading).length > 0) return await this.train(ids, reading);
    const batch = toJudge(this.membership, ids, reading);
    return batch.length > 0 && (await this.judge(batch, reading));
  }

  /** Train on whole batches for a moment, and keep what came of it. */
  private async train(ids: readonly number[], before: Reading): Promise<boolean> {
    const { membership } = this;
    const { manifest, standing, mustStop } = membership;
    const started = nowS();
    let { trained } = before;
    for (let batch = toTrain(membership, ids, before); batch.length > 0; ) {
      if (!(await this.trainOn(batch))) break;
      trained = batch.at(-1) as number;
      if (nowS() - started >= AT_A_TIME_S || mustStop()) break;
      batch = toTrain(membership, ids, { ...before, trained });
    }
    if (trained === before.trained) return false;
    const own = { base: manifest.version, federation: standing.federation, tensors: encodeTensors(this.own) };
    return await write(membership, { reading: { ...before, trained, trainedAt: Date.now() }, own });
  }

  /** Train on the samples `ids`, and skip them if that diverges; false, and nothing has changed, if it must stop. */
  private async trainOn(ids: readonly number[]): Promise<boolean> {
    const { store, plan, manifest, mustStop } = this.membership;
    const { model } = manifest;
    const local = { ...plan.local, ...plan.local.betweenRounds };
    const start = this.trained.begin(this.own);
    const parameters = new Map(model.parameters.map(({ name }) => [name, start.get(name) as Tensor]));
    const broadcast = { received: parameters, server: new Map(), round: 0 };
    const epoch = stepsPerEpoch(ids.length, model.batch_size);
    const optimisation = new Optimisation(
      {
        model,
        start,
        anchor: local.begin(broadcast, NO_STATE).get("anchor") ?? start,
        frozen: this.frozen,
        train: ids,
        scalars: local.scalars,
        gradients: local.gradients,
        seed: ids[0] as number,
        kept: this.trained.kept(local, epoch),
      },
      this.runStep,
    );
    const total = stepsOf(local, epoch);
    try {
      while (optimisation.stepsDone < total) {
        if (mustStop()) return false;
        await optimisation.step(makeBatch(await store.load(optimisation.batchIds()), model, model.batch_size));
      }
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== "agent.diverged") throw error;
      console.warn(`a batch is left out: ${error.message}`);
      return true;
    }
    this.own = optimisation.parameters();
    return true;
  }

  /** Evaluate the personal model on a batch that it has not trained on. */
  private async judge(ids: readonly number[], before: Reading): Promise<boolean> {
    const { membership, predictor, own } = this;
    const { plan, manifest } = membership;
    if (plan.help === null) return false;
    const { labels, classes } = await predicted(membership, predictor, ids, [own]);
    const watch = watchOf(before, plan.help, classesOf(manifest.model));
    const reading: Reading = {
      ...before,
      judged: ids.at(-1) as number,
      batches: before.batches + 1,
      watch: watched(watch, plan.help, labels, classes[0] as number[]),
    };
    return await write(membership, { reading });
  }
}
