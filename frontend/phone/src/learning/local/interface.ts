/** What a kind of local learning says of itself: a mirror of what `coterie_learning.local` says to devices. */
import { float32, type Tensor, type Tensors } from "../../wire/tensors";

/** The scalars of a step, each an input of the train step graphs that have it. */
export interface StepScalars {
  readonly learning_rate: number;
  readonly momentum: number;
  readonly weight_decay: number;
  readonly clip_norm: number;
  readonly proximal_weight: number;
  readonly distillation_weight: number;
}

/** What each scalar is where a plan asks for nothing; a graph need not have one that is. */
export const NOT_ASKED: Omit<StepScalars, "learning_rate"> = {
  momentum: 0,
  weight_decay: 0,
  clip_norm: Number.POSITIVE_INFINITY,
  proximal_weight: 0,
  distillation_weight: 0,
};

/** What of a model a device trains, and therefore uploads. */
export interface Scope {
  /** Every row of the output layer, or only those of the classes that the device has samples of. */
  readonly head: "all" | "seen";
  /** Whether the layers before the output layer are trained. */
  readonly body: "trained" | "frozen";
}

export const WHOLE: Scope = { head: "all", body: "trained" };

/** Whether every parameter is trained. */
export const trainsAll = ({ head, body }: Scope): boolean => head === "all" && body === "trained";

/** When training ends before its last epoch. */
export interface Stopping {
  /** Epochs without a lower loss on the samples held back after which it ends. */
  readonly patience: number;
  /** Share of the device's samples that is held back. */
  readonly share: number;
}

/** What the steps of a round came to. */
export interface Done {
  /** The difference of the parameters from those received, zero wherever the plan trains nothing. */
  readonly delta: Tensors;
  readonly steps: number;
  /** Mean loss of the received parameters over the training samples, where the kind `needsLoss`. */
  readonly loss: number | null;
}

/** What a kind makes of that. */
export interface Ended {
  /** The difference, or what the kind sends in its place. */
  readonly delta: Tensors;
  /** What the update holds besides as one number each. */
  readonly scalars: ReadonlyMap<string, number>;
}

export interface Local {
  readonly epochs: number;
  /** The scalars of every step. */
  readonly scalars: StepScalars;
  /** Inputs of every step by parameter, for each role, from the parameters that were `received`. */
  begin(received: Tensors): ReadonlyMap<string, Tensors>;
  /** What is sent. */
  end(done: Done): Ended;
  /** Whether it wants to know the loss of the received parameters. */
  readonly needsLoss: boolean;
  /** Whether a step must be the gradient times the learning rate, as with SGD and unlike with Adam. */
  readonly plainDescent: boolean;
  readonly scope: Scope;
  /** When training stops early, keeping its best epoch; null: it goes on to the last epoch and keeps that. */
  readonly stopping: Stopping | null;
  /** Seconds back from now within which samples must have come to be learned from; null: all are. */
  readonly periodS: number | null;
  /** Whether a round trains the device's personal model on, rather than the version that it received. */
  readonly trainsPersonalModel: boolean;
  /** What is otherwise where the device learns a batch of new samples by itself, between rounds. */
  readonly betweenRounds: Partial<Pick<Local, "epochs" | "scalars">>;
  /** Whether the device learns from the cloud model's probabilities, too. */
  readonly needsTeacher: boolean;
}

/** What a kind says that trains all of the version on all samples to the last epoch. */
export const PLAIN: Omit<Local, "epochs" | "scalars"> = {
  begin: () => new Map(),
  end: ({ delta }) => ({ delta, scalars: new Map() }),
  needsLoss: false,
  plainDescent: false,
  scope: WHOLE,
  stopping: null,
  periodS: null,
  trainsPersonalModel: false,
  betweenRounds: {},
  needsTeacher: false,
};

/** The tensors with each of their numbers times `factor`, or divided by `divisor`; both are float32. */
export const scaled = (tensors: Tensors, { factor = 1, divisor = 1 }): Tensors =>
  new Map(
    [...tensors].map(([name, { shape, data }]): [string, Tensor] => [
      name,
      float32(
        shape,
        data.map((number) => (number * factor) / divisor),
      ),
    ]),
  );
