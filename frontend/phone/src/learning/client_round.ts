/**
 * One device's part in one round, from what it received to its update: a mirror of `coterie_learning.client.round`.
 * `training` names what is needed next, and `finish` makes the update.
 */
import { type ModelSpec, versionOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { type AnyTensor, decodeFloats, type Tensor, type Tensors } from "../wire/tensors";
import { TrainedPart } from "./heads";
import { stepsOf } from "./local/interface";
import { Optimisation, type RunStep } from "./optimisation";
import { split, stepsPerEpoch } from "./order";
import type { DevicePlan } from "./plan";
import { chosen, drawOf } from "./subsets";
import { Training, type TrainingCheckpoint } from "./training";
import { makeUpdate, type States, type Update } from "./update";

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
  readonly states: States;
  /** Of what the platform's merge remembers what came with the version, by what it is. */
  readonly server: ReadonlyMap<string, Tensors>;
  /** The round's number in its federation. */
  readonly round: number;
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
    const { plan, model, received, start: from = received, frozen, ids, seen, seed, personal, server, round } = given;
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
    const parameters = new Map(model.parameters.map(({ name }) => [name, this.begun.get(name) as Tensor]));
    const anchor = local.begin({ received: parameters, server, round }, given.states.local).get("anchor") ?? start;
    const epoch = stepsPerEpoch(train.length, model.batch_size);
    const { share } = local.scope;
    const optimisation = new Optimisation(
      {
        model,
        start,
        anchor,
        frozen,
        train,
        scalars: local.scalars,
        batchShare: local.batchShare,
        gradients: local.gradients,
        seed,
        kept: this.part.kept(local, epoch),
        ...(share === 1 ? {} : { chosen: chosen(model.parameters, share, drawOf(seed)) }),
      },
      runStep,
    );
    const stepsTotal = stepsOf(local, epoch);
    const { classes } = this.part;
    const judgedFirst = local.needsLoss ? this.begun : null;
    const wanted = { model, optimisation, parts, stepsTotal, stopping: local.stopping, classes, judgedFirst };
    this.training = new Training(wanted, checkpoint);
  }

  /** The update, and the number of samples that it was computed from. Throws CodedError `update.not_finite`. */
  finish(trained: Tensors): { update: Update; samples: number } {
    const { plan, model, states, seed, secret, server, round } = this.given;
    const { parts, stepsDone, lossBefore } = this.training;
    const { classes } = this.part;
    const ended = this.part.end(this.begun, trained);
    const update = makeUpdate(this.begun, ended, {
      plan,
      model,
      states,
      seed,
      secret,
      classes,
      steps: stepsDone,
      loss: lossBefore,
      broadcast: { server, round },
    });
    return { update, samples: Math.min(parts.train.length, stepsDone * model.batch_size) };
  }
}

/** The parameters of a version from its file. Throws CodedError `tensors.*`. */
export const readVersion = (file: Uint8Array, model: ModelSpec): Tensors => decodeFloats(file, versionOf(model));
