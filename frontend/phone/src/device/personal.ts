/** The personal model between rounds: a mirror of `coterie_agent.peers.personal_training`, for one worker that does one thing at a time. */
import { makeBatch } from "../learning/batches";
import { renewed } from "../learning/heads";
import { type Local, WHOLE } from "../learning/local/interface";
import type { Measured } from "../learning/metrics";
import type { PersonalRules } from "../learning/personal";
import { choose, isDue, personalTraining, seedOf, stillAnswers } from "../learning/personal/training";
import { parseDevicePlan } from "../learning/plan";
import type { Training, Wanted } from "../learning/training";
import { type Manifest, versionOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import type { ReportPersonal, StandingPlan } from "../wire/messages";
import { decodeFloats, encodeTensors, type Tensors } from "../wire/tensors";
import type { OwnModel, Tuned, Tuning } from "./kept";
import { type ReadPart, withOpened } from "./opened";
import { otherTasks } from "./other_tasks";
import type { Predictor } from "./predictor";
import { nowS } from "./situation";
import type { Store } from "./store";

const CHECKPOINT_S = 5;

export interface Around {
  readonly store: Store;
  readonly part: ReadPart;
  /** Called between steps: whether something else is to be done, or conditions are lost. */
  readonly mustStop: () => boolean;
  readonly report: (done: number, total: number) => void;
}

/** The rules of the plan that holds between rounds; null: it has the device train nothing. Throws CodedError `plan.*`. */
export const rulesOf = (standing: StandingPlan): PersonalRules | null => parseDevicePlan(standing.plan).personal;

/** Whether the personal model is to be trained now, or a training that was begun goes on. */
export async function isTuningDue(store: Store, standing: StandingPlan, manifest: Manifest): Promise<boolean> {
  const rules = rulesOf(standing);
  if (rules === null) return false;
  const [ids, tuning, tuned] = await Promise.all([store.sampleIds(), store.get("tuning"), store.get("tuned")]);
  if (goesOn(tuning, standing, manifest, ids)) return true;
  const known = tuned?.digest === standing.digest && tuned.version === manifest.version ? tuned.trainedUpTo : null;
  return isDue(ids, known, rules.againShare);
}

/** Same plan and same graph, and no sample that it began with has gone. */
function goesOn(
  tuning: Tuning | null,
  standing: StandingPlan,
  manifest: Manifest,
  ids: readonly number[],
): tuning is Tuning {
  if (tuning === null || tuning.digest !== standing.digest) return false;
  return tuning.trainStep === manifest.train_step.sha256 && ids[0] === tuning.first && ids.includes(tuning.last);
}

/**
 * Train the personal model until its end, and have the better model answer; false where it had to stop before, with a
 * checkpoint kept. Throws CodedError `plan.*`, `data.*`, `model.*` or `tensors.*`.
 */
export async function personalise(standing: StandingPlan, manifest: Manifest, around: Around): Promise<boolean> {
  const { store, part } = around;
  const { model } = manifest;
  const rules = rulesOf(standing);
  if (rules === null) return true;
  const every = await store.sampleIds();
  const known = await store.get("tuning");
  const tuning = goesOn(known, standing, manifest, every) ? known : null;
  const last = tuning?.last ?? (every.at(-1) as number);
  const began = tuning?.version ?? manifest.version;
  const ids = every.filter((id) => id <= last);
  return withOpened(manifest, part, async ({ frozen, received, graph, predictor }) => {
    const personal = ownTensors(await store.get("own"), manifest);
    const given = { rules, model, received, personal, frozen, ids, seed: seedOf(began, last) };
    const training = personalTraining(given, (feeds) => graph.run(feeds), tuning?.client ?? null);
    const save = (): Promise<void> =>
      store.put("tuning", {
        digest: standing.digest,
        version: began,
        trainStep: manifest.train_step.sha256,
        first: ids[0] as number,
        last,
        client: training.checkpoint(),
      });
    const tuned = new Tuner(training, predictor, manifest, around, save);
    return (
      (await tuned.compare(standing, received)) &&
      (await tuned.train()) &&
      (await tuned.end(standing, began, last, received))
    );
  });
}

/** The personal model where it fits `manifest`'s; one that does not is passed over. */
export function ownTensors(own: OwnModel | null, { model }: Manifest): Tensors | null {
  if (own === null) return null;
  try {
    return decodeFloats(own.tensors, versionOf(model));
  } catch (error) {
    console.warn(`the personal model is not used: ${(error as Error).message}`);
    return null;
  }
}

/**
 * What answers: the device's own model, else the version, which is read where it is needed. Where the plan that holds
 * between rounds has only some layers stay on the device, the others are the version's.
 */
export async function answeringTensors(
  own: OwnModel | null,
  standing: StandingPlan | null,
  manifest: Manifest,
  readReceived: () => Promise<Tensors>,
): Promise<Tensors> {
  const known = ownTensors(own, manifest);
  if (known === null) return readReceived();
  if (standing === null || own?.base === manifest.version || own?.federation !== standing.federation) return known;
  const scope = localOf(standing)?.scope ?? WHOLE;
  return scope.personal.length === 0 ? known : renewed(known, await readReceived(), manifest.model, scope);
}

/** How rounds train; null where the plan cannot be read. */
export function localOf({ plan }: StandingPlan): Local | null {
  try {
    return parseDevicePlan(plan).local;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return null;
  }
}

/** What the platform is told of the latest training. */
export const reportOn = (tuned: Tuned): ReportPersonal => ({
  federation: tuned.federation,
  version: tuned.comparedWith,
  answers: tuned.answers,
  samples: tuned.samples,
  version_accuracy: tuned.versionAccuracy,
  own_accuracy: tuned.ownAccuracy,
});

class Tuner {
  private savedAt = nowS();

  constructor(
    private readonly training: Training,
    private readonly predictor: Predictor,
    private readonly manifest: Manifest,
    private readonly around: Around,
    private readonly save: () => Promise<void>,
  ) {}

  /** Have a version that has come answer where it does better; false if it must stop before that is known. */
  async compare({ digest, federation }: StandingPlan, received: Tensors): Promise<boolean> {
    const { store } = this.around;
    const [before, tuned] = await Promise.all([store.get("own"), store.get("tuned")]);
    const own = ownTensors(before, this.manifest);
    if (own === null || before?.federation !== federation || tuned?.digest !== digest) return true;
    if (tuned.comparedWith === this.manifest.version) return true;
    const byVersion = await this.figures(received);
    const byOwn = byVersion === null ? null : await this.figures(own);
    if (byVersion === null || byOwn === null) return false;
    const compared: Tuned = {
      ...tuned,
      comparedWith: this.manifest.version,
      samples: byVersion.losses.length,
      versionAccuracy: accuracyOf(byVersion),
    };
    if (stillAnswers(byOwn, byVersion)) await store.put("tuned", { ...compared, ownAccuracy: accuracyOf(byOwn) });
    else
      await store.answerByVersion({
        ...compared,
        answers: false,
        ownAccuracy: compared.versionAccuracy,
        reported: false,
      });
    return true;
  }

  /** Whether it has come to its end. */
  async train(): Promise<boolean> {
    const { training, around } = this;
    for (let wanted = training.wanted(); wanted !== null; wanted = training.wanted()) {
      if (around.mustStop() || !(await this.supply(wanted))) {
        await this.save();
        return false;
      }
      if (nowS() - this.savedAt >= CHECKPOINT_S) {
        await this.save();
        this.savedAt = nowS();
      }
      around.report(training.stepsDone, training.stepsTotal);
      await otherTasks();
    }
    return true;
  }

  /** Have the better model answer; false if it must stop before it is known. */
  async end(standing: StandingPlan, began: string, last: number, received: Tensors): Promise<boolean> {
    const { training, around, manifest } = this;
    const { store } = around;
    const before = await store.get("own");
    const own = ownTensors(before, manifest);
    const trained = training.trained();
    const byVersion = await this.figures(received);
    const byTrained = byVersion === null ? null : await this.figures(trained);
    const byOwn = own === null || byTrained === null ? null : await this.figures(own);
    if (byVersion === null || byTrained === null || (own !== null && byOwn === null)) {
      await this.save();
      return false;
    }
    const { federation, digest } = standing;
    const choice = choose(byVersion, byTrained, byOwn, before !== null && before.federation !== federation);
    const answering = choice.answers === "trained" ? trained : choice.answers === "version" ? null : own;
    const base = choice.answers === "trained" ? began : manifest.version;
    const tuned: Tuned = {
      digest,
      federation,
      version: began,
      trainedUpTo: last,
      comparedWith: manifest.version,
      answers: answering !== null,
      samples: byVersion.losses.length,
      versionAccuracy: accuracyOf(byVersion),
      ownAccuracy: accuracyOf(choice.chosen),
      reported: false,
    };
    await store.endTuning(tuned, answering === null ? null : { base, federation, tensors: encodeTensors(answering) });
    return true;
  }

  /** What the training wants; false if it must stop before it is known. */
  private async supply(wanted: Wanted): Promise<boolean> {
    const { training, around, manifest } = this;
    if (wanted.want === "judge") {
      const losses = (await this.figures(wanted.parameters))?.losses;
      if (losses === undefined) return false;
      training.judged(wanted.parameters, losses.reduce((sum, loss) => sum + loss, 0) / losses.length);
      return true;
    }
    const { model } = manifest;
    try {
      await training.learn(makeBatch(await around.store.load(wanted.ids), model, model.batch_size));
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== "agent.diverged") throw error;
      console.warn(`the training of the personal model ends early: ${error.message}`);
      training.enough();
    }
    return true;
  }

  private figures(version: Tensors): Promise<Measured | null> {
    const { store, mustStop } = this.around;
    return this.predictor.each(version, (some) => store.load(some), this.training.parts.heldOut, mustStop);
  }
}

/** Share of the samples that is right. */
const accuracyOf = ({ right }: Measured): number | null =>
  right === null ? null : right.reduce((sum, one) => sum + one, 0) / right.length;
