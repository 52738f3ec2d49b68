/** One assignment, from the received parameters to the spooled update: a mirror of `coterie_agent.training.assignment`. */
import { makeBatch } from "../learning/batches";
import { ClientRound, type Given } from "../learning/client_round";
import { decodeState, encodeState, NO_STATE, type State } from "../learning/device_state";
import { drawnKey } from "../learning/noise";
import { type DevicePlan, parseDevicePlan } from "../learning/plan";
import { broadcastState } from "../learning/server_state";
import type { Training, Wanted } from "../learning/training";
import type { States } from "../learning/update";
import type { Manifest, ModelSpec } from "../wire/bundle";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { Assignment } from "../wire/messages";
import { encodeTensors, type Tensors } from "../wire/tensors";
import { partOf } from "./budget";
import type { Saved } from "./kept";
import { type ReadPart, withOpened } from "./opened";
import { otherTasks } from "./other_tasks";
import { ownTensors } from "./personal";
import type { Measure, Predictor } from "./predictor";
import { nowS } from "./situation";
import type { Store, Trained } from "./store";
import type { Teaching } from "./teaching";

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
  /** The cloud model's probabilities, where the plan has the device learn from them. */
  readonly teaching: Teaching | null;
  /** How many samples the device has of each class. */
  readonly counts: readonly number[];
}

/**
 * Whether the update is spooled; if not, training was paused and a checkpoint is kept.
 * Throws CodedError `plan.*`, `data.*`, `model.*`, `agent.*`, `tensors.*` or `update.*`.
 */
export async function train(assignment: Assignment, manifest: Manifest, around: Surroundings): Promise<boolean> {
  const { store, part, halt, teaching, counts } = around;
  const { model } = manifest;
  const plan = parseDevicePlan(assignment.plan);
  const saved = await store.get("saved");
  const ids = await (saved === null ? idsOf(plan, store) : store.sampleIds(saved.first, saved.last));
  if (ids.length === 0) {
    throw new CodedError("data.no_samples", "no samples are left on the device that the plan would learn from");
  }
  const trainsOwn = await isPersonal(plan, assignment, store);
  const seen = seenOf(counts);
  const isPaused = (): boolean => halt(0) === "pause";
  if (teaching !== null && !(await teaching.ask(ids, model, isPaused))) return false;
  return withOpened(manifest, part, async ({ frozen, received, graph, predictor }) => {
    const given: Given = {
      plan,
      model,
      received,
      start: await withKeptPortions(store, assignment, "before", { model, parameters: received, seen }),
      frozen,
      ids,
      seen,
      seed: assignment.seed,
      secret: drawnKey(),
      states: await statesOf(store, assignment.federation),
      server: await serverOf(manifest, part),
      round: assignment.round,
      personal: trainsOwn ? await personalOf(assignment, manifest, store) : null,
    };
    const client = new ClientRound(given, (feeds) => graph.run(feeds), saved?.client ?? null);
    const run = new Run(assignment, plan, manifest, client, predictor, trainsOwn, around);
    const start = saved ?? (await run.before(ids));
    return start === null ? false : await run.toTheEnd(start, ids, received);
  });
}

/** The classes that there are samples of, ascending. */
const seenOf = (counts: readonly number[]): number[] =>
  [...counts.keys()].filter((label) => (counts[label] as number) > 0);

/** The samples that the plan trains on: those of its period. */
async function idsOf({ local }: DevicePlan, store: Store): Promise<number[]> {
  if (local.periodS === null) return store.sampleIds();
  const first = await store.firstSince(Date.now() - local.periodS * 1000);
  return first === null ? [] : store.sampleIds(first);
}

/** Whether the round trains the personal model. In another federation than its own the version is trained. */
async function isPersonal({ local }: DevicePlan, { federation }: Assignment, store: Store): Promise<boolean> {
  if (!local.trainsPersonalModel) return false;
  const standing = await store.get("standing");
  return standing === null || standing.federation === federation;
}

/** The device's personal model of the federation; null: there is none. */
async function personalOf({ federation }: Assignment, manifest: Manifest, store: Store): Promise<Tensors | null> {
  const own = await store.get("own");
  return own?.federation === federation ? ownTensors(own, manifest) : null;
}

/**
 * The parameters with the portions of others that the device has kept since its last update: those that the round begins
 * with, or those that came after it had begun.
 */
async function withKeptPortions(
  store: Store,
  { federation, assignment }: Assignment,
  which: "before" | "during",
  given: { readonly model: ModelSpec; readonly parameters: Tensors; readonly seen: readonly number[] },
): Promise<Tensors> {
  const { model, parameters, seen } = given;
  const [kept, standing] = await Promise.all([store.get("portions"), store.get("standing")]);
  const portions = (kept ?? []).filter(({ during }) => (during === assignment) === (which === "during"));
  if (portions.length === 0 || standing?.federation !== federation) return parameters;
  const { withPortions } = await import("../learning/portions/payload"); // only now: most phones have none
  return withPortions(parameters, model, portions, seen);
}

/** What the platform's merge remembers that came with the version. Throws CodedError `tensors.*`. */
async function serverOf({ server_state, model }: Manifest, part: ReadPart): Promise<ReadonlyMap<string, Tensors>> {
  return server_state === undefined ? new Map() : broadcastState(await part(server_state.sha256), model.parameters);
}

/** What follows from the last accepted update; a damaged state is forgotten. */
async function statesOf(store: Store, federation: string): Promise<States> {
  const kept = await store.state(federation);
  const read = (blob: Uint8Array | undefined): State => {
    if (blob === undefined) return NO_STATE;
    try {
      return decodeState(blob);
    } catch (error) {
      console.warn(`a state of ${federation} is forgotten: ${(error as Error).message}`);
      return NO_STATE;
    }
  };
  return { codec: read(kept?.value), local: read(kept?.remembered) };
}

class Run {
  private trainS = 0;
  private readonly stepS: number[] = [];

  constructor(
    private readonly assignment: Assignment,
    private readonly plan: DevicePlan,
    private readonly manifest: Manifest,
    private readonly client: ClientRound,
    private readonly predictor: Predictor,
    /** Whether it trains the personal model. */
    private readonly isPersonal: boolean,
    private readonly around: Surroundings,
  ) {}

  /** Where training starts from; null when it was paused before that was measured. */
  async before(ids: readonly number[]): Promise<Saved | null> {
    const started = nowS();
    const found = await this.measure(this.client.begun, ids, this.training.parts.heldOut);
    if (found === null) return null;
    return {
      first: ids[0] as number,
      last: ids.at(-1) as number,
      lossBefore: found.loss,
      accuracyBefore: found.accuracy,
      measureS: nowS() - started,
      trainS: 0,
      client: null,
    };
  }

  /** Train on the samples `ids` and spool the update; false if it was paused, with a checkpoint kept. */
  async toTheEnd(start: Saved, ids: readonly number[], version: Tensors): Promise<boolean> {
    const { training, around } = this;
    this.trainS = start.trainS;
    const isDone = await this.steps(start);
    const median = [...this.stepS].sort((a, b) => a - b)[Math.floor(this.stepS.length / 2)];
    if (median !== undefined) await around.store.put("train_step_s", median);
    if (!isDone) return false;
    if (training.stepsDone === 0) {
      throw new CodedError("agent.too_late", "the round closes before a first step could be finished");
    }
    const trained = training.trained();
    const compared = await this.compared(version);
    const after = compared === null ? null : await this.measure(trained, ids, compared.heldOut);
    if (compared === null || after === null) {
      await this.save(start);
      return false;
    }
    const { update, samples } = this.client.finish(trained);
    const { classes } = training;
    const spooled = {
      offer: {
        assignment: this.assignment.assignment,
        sha256: sha256Hex(update.payload),
        size_bytes: update.payload.length,
        samples,
        steps_done: training.stepsDone,
        steps_total: training.stepsTotal,
        loss_before: start.lossBefore,
        loss_after: after.loss,
        accuracy_before: start.accuracyBefore,
        train_s: this.trainS,
        ...(classes.length > 0 ? { classes } : {}),
      },
      payload: update.payload,
      state: encodeState(update.states.codec),
      remembered: encodeState(update.states.local),
      privacy: this.plan.privacy.sentence,
    };
    const own = await this.own(trained, start, compared, after);
    await around.store.spool(spooled, partOf(this.assignment, this.plan.privacy), own);
    return true;
  }

  private get training(): Training {
    return this.client.training;
  }

  /**
   * The version on the samples held out, where a personal model is compared with it; null if it was paused. It is not
   * where too few samples are held out, nor where the plan hides in a sum what devices measure.
   */
  private async compared(version: Tensors): Promise<Compared | null> {
    const { train, heldOut } = this.training.parts;
    const isTold = train !== heldOut && this.plan.privacy.masking === null;
    if (!isTold || !this.isPersonal) return { heldOut: [], version: null };
    const found = await this.measure(version, heldOut, heldOut);
    return found === null ? null : { heldOut, version: found };
  }

  /** The personal model after the round, and how it did; null: the round does not train it. */
  private async own(trained: Tensors, { last }: Saved, compared: Compared, after: Measure): Promise<Trained | null> {
    if (!this.isPersonal) return null;
    const { version } = this.manifest;
    const { federation } = this.assignment;
    const { store, counts } = this.around;
    const seen = seenOf(counts);
    const { model } = this.manifest;
    const given = { model, parameters: trained, seen };
    const own = await withKeptPortions(store, this.assignment, "during", given);
    const standing = await store.get("standing");
    const isCompared = standing !== null && compared.version !== null;
    return {
      model: { base: version, federation, tensors: encodeTensors(own) },
      tuned: isCompared
        ? {
            digest: standing.digest,
            federation,
            version,
            trainedUpTo: last,
            comparedWith: version,
            answers: true,
            samples: compared.heldOut.length,
            versionAccuracy: compared.version.accuracy,
            ownAccuracy: after.accuracy,
            reported: false,
          }
        : null,
    };
  }

  /** Whether the steps are done, all or enough; if not, a checkpoint is kept. */
  private async steps(start: Saved): Promise<boolean> {
    const { training, around } = this;
    let savedAt = nowS();
    for (let wanted = training.wanted(); wanted !== null; wanted = training.wanted()) {
      const halt = around.halt(start.measureS);
      if (halt === "enough") {
        training.enough();
        continue;
      }
      if (halt === "pause" || !(await this.supply(wanted))) {
        await this.save(start);
        return false;
      }
      around.report(training.stepsDone, training.stepsTotal);
      if (nowS() - savedAt >= CHECKPOINT_S) {
        await this.save(start);
        savedAt = nowS();
      }
      await otherTasks();
    }
    return true;
  }

  /** What the training wants; false if it was paused before that was known. */
  private async supply(wanted: Wanted): Promise<boolean> {
    if (wanted.want === "learn") {
      await this.learn(wanted.ids);
      return true;
    }
    const found = await this.measure(wanted.parameters, wanted.ids, []);
    if (found !== null) this.training.judged(wanted.parameters, found.loss);
    return found !== null;
  }

  private async learn(ids: readonly number[]): Promise<void> {
    const { store, teaching } = this.around;
    const { training } = this;
    const started = nowS();
    const rows = await store.load(ids);
    const numbers = rows.map(({ id }) => id);
    const isTaught = teaching !== null && rows.length > 0;
    const teacher = isTaught ? await teaching.probabilities(numbers, training.classes) : null;
    await training.learn(makeBatch(rows, training.model, training.model.batch_size), teacher);
    const elapsed = nowS() - started;
    this.trainS += elapsed;
    this.stepS.push(elapsed);
    if (this.stepS.length > TIMED_STEPS) this.stepS.shift();
  }

  private measure(version: Tensors, lossOf: readonly number[], accuracyOf: readonly number[]): Promise<Measure | null> {
    const { store, halt } = this.around;
    const stop = (): boolean => halt(0) === "pause";
    return this.predictor.measure(version, (some) => store.load(some), { lossOf, accuracyOf, stop });
  }

  private async save(start: Saved): Promise<void> {
    await this.around.store.put("saved", { ...start, trainS: this.trainS, client: this.training.checkpoint() });
  }
}

/** The version beside the personal model that a round trains. */
interface Compared {
  readonly heldOut: readonly number[];
  /** null: they are not compared. */
  readonly version: Measure | null;
}
