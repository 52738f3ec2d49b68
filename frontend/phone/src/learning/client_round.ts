/**
 * One device's part in one round, from what it received to its update: a mirror of `coterie_learning.client.round`.
 * `training` names what is needed next, and `finish` makes the update.
 */
import { type ModelSpec, versionOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { type AnyTensor, decodeFloats, type Tensors } from "../wire/tensors";
import { TrainedPart } from "./heads";
import { Optimisation, type RunStep } from "./optimisation";
import { split, stepsPerEpoch } from "./order";
import type { DevicePlan } from "./plan";
import { Training, type TrainingCheckpoint } from "./training";
import { makeUpdate, type Update } from "./update";

export interface Given {
  readonly plan: DevicePlan;
  readonly model: ModelSpec;
  /** The tensors of the version. */
  readonly received: Tensors;
  /** What training begins from where there is no `personal`; left out: the version. */
  readonly start?: Tensors;
  /** Those that never change, by the names of the graphs' inputs. */
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** Numbers of the samples that the plan trains on, ascending. */
  readonly ids: readonly number[];
  /** Classes that the device has samples of, ascending. */
  readonly seen: readonly number[];
  readonly seed: number;
  /** 256 bits that nobody else knows, for noise. */
  readonly secret: bigint;
  /** What the codec lost of the last accepted update. */
  readonly lost: Tensors | null;
  /** The device's personal model, where it has one and the plan goes on with it. */
  readonly personal: Tensors | null;
}

export class ClientRound {
  readonly training: Training;
  /** The version's tensors for the part of the model that the device trains. */
  readonly begun: Tensors;
  private readonly part: TrainedPart;

  /** Throws CodedError `plan.does_not_fit` or `plan.no_head`, or of a damaged checkpoint `tensors.*`. */
  constructor(
    private readonly given: Given,
    runStep: RunStep,
    checkpoint: TrainingCheckpoint | null = null,
  ) {
    const { plan, model, received, start: from = received, frozen, ids, seen, seed, personal } = given;
    const { local } = plan;
    if (local.plainDescent && model.scalars.includes("step")) {
      const detail = "it needs steps along the gradient, but the model was compiled with an adaptive one";
      throw new CodedError("plan.does_not_fit", detail);
    }
    this.part =
      checkpoint === null
        ? TrainedPart.ofDevice(model, local.scope, seen)
        : new TrainedPart(model, local.scope, checkpoint.classes);
    this.begun = this.part.begin(received);
    const start = personal === null ? this.part.begin(from) : this.part.goOn(personal, received);
    const parts = local.stopping === null ? split(ids) : split(ids, local.stopping.share);
    const { train } = parts;
    const anchor = local.begin(this.begun).get("anchor") ?? start;
    const optimisation = new Optimisation(
      { model, start, anchor, frozen, train, scalars: local.scalars, seed, kept: this.part.kept() },
      runStep,
    );
    const stepsTotal = local.epochs * stepsPerEpoch(train.length, model.batch_size);
    const { classes } = this.part;
    const judgedFirst = local.needsLoss ? this.begun : null;
    const wanted = { model, optimisation, parts, stepsTotal, stopping: local.stopping, classes, judgedFirst };
    this.training = new Training(wanted, checkpoint);
  }

  /** The update, and the number of samples that it was computed from. Throws CodedError `update.not_finite`. */
  finish(trained: Tensors): { update: Update; samples: number } {
    const { plan, model, lost, seed, secret } = this.given;
    const { parts, stepsDone, lossBefore } = this.training;
    const { classes } = this.part;
    const ended = this.part.end(this.begun, trained);
    const update = makeUpdate(this.begun, ended, {
      plan,
      model,
      lost,
      seed,
      secret,
      classes,
      steps: stepsDone,
      loss: lossBefore,
    });
    return { update, samples: Math.min(parts.train.length, stepsDone * model.batch_size) };
  }
}

/** The parameters of a version from its file. Throws CodedError `tensors.*`. */
export const readVersion = (file: Uint8Array, model: ModelSpec): Tensors => decodeFloats(file, versionOf(model));
