/** What a kind of local learning says of itself: a mirror of what `coterie_learning.local` says to devices. */
import type { ModelSpec } from "../../wire/bundle";
import { float32, type Tensor, type Tensors } from "../../wire/tensors";
import type { State } from "../device_state";
import { fitsPattern } from "../name_patterns";

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
  /** Parameters that are trained and never uploaded: shell patterns of their names, or `head`, the output layer. */
  readonly personal: readonly string[];
  /** Of each tensor's parameters those that are trained and uploaded: a random subset, another one each time. */
  readonly share: number;
}

export const WHOLE: Scope = { head: "all", body: "trained", personal: [], share: 1 };

/** Whether every parameter is trained. */
export const trainsAll = ({ head, body }: Scope): boolean => head === "all" && body === "trained";

/** The names of the parameters of the model that are trained and stay on the device. */
export function personalLayers({ personal }: Scope, { parameters, head }: ModelSpec): ReadonlySet<string> {
  const isKept = (name: string): boolean =>
    personal.some((pattern) =>
      pattern === "head" ? name === head?.weight || name === head?.bias : fitsPattern(name, pattern),
    );
  return new Set(parameters.map(({ name }) => name).filter(isKept));
}

/** Parameters that stay on the device, and those that travel. */
export type Layers = "personal" | "shared";

/** When training ends before its last epoch. */
export interface Stopping {
  /** Epochs without a lower loss on the samples held back after which it ends. */
  readonly patience: number;
  /** Share of the device's samples that is held back. */
  readonly share: number;
}

/** The part of an update that every kind sends: the difference of the parameters from those received. */
export const DELTA = "delta";

/** The parts of an update by their names, in the order in which they travel. */
export type Parts = ReadonlyMap<string, Tensors>;

/** What a round gives to every device of its cohort. */
export interface Broadcast {
  /** The version's parameters, as the part of the model begins that the device trains. */
  readonly received: Tensors;
  /** Of what the platform's merge remembers what devices get, by what it is; empty before its first merge. */
  readonly server: ReadonlyMap<string, Tensors>;
  /** The round's number in its federation; 0 in training between rounds. */
  readonly round: number;
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
  /** Each with one tensor a parameter. */
  readonly parts: Parts;
  /** What the update holds besides as one number each. */
  readonly scalars: ReadonlyMap<string, number>;
  /** What the kind remembers once the update is accepted, unless `remember` says otherwise. */
  readonly state: State;
}

/** The learning rate of a run that is for its gradient: so long a step that nothing of it is lost in rounding. */
export const GRADIENT_RATE = 2 ** 20;

/** A step that is made of several runs of the graph, each for its gradient. */
export interface Gradients {
  /** How many one step takes. */
  readonly runs: number;
  /** Which batch of a round the graph gets in its run `run` (0-based). */
  batch(run: number): number;
  /**
   * Where the next gradient of a step is taken, or after the last where the step ends. It began with the parameters
   * `begun`, where the first of `gradients` was taken.
   */
  move(begun: Tensors, gradients: readonly Tensors[]): Tensors;
}

export interface Local {
  readonly epochs: number;
  /** Runs of the graph in a round, however many samples there are; null: as many as the epochs have. */
  readonly steps: number | null;
  /** The scalars of every step. */
  readonly scalars: StepScalars;
  /** By what the step of a batch of `samples` is multiplied, `of` all that the device trains on. */
  batchShare(samples: number, of: number): number;
  /** null: each run of the graph is a step. */
  readonly gradients: Gradients | null;
  /** The size of the step by which a device is to adapt a version to its data before it uses it; null: it is not. */
  readonly adaptsBy: number | null;
  /** Inputs of every step by parameter, for each role. */
  begin(broadcast: Broadcast, state: State): ReadonlyMap<string, Tensors>;
  /** What is sent, and the state after it. */
  end(broadcast: Broadcast, done: Done, state: State): Ended;
  /** What is remembered once the update is accepted; `sent` gives its parts as the platform reads them. */
  remember(ended: Ended, sent: () => Parts): State;
  /** Whether it wants to know the loss of the received parameters. */
  readonly needsLoss: boolean;
  /** Whether a step must be the gradient times the learning rate, as with SGD and unlike with Adam. */
  readonly plainDescent: boolean;
  readonly scope: Scope;
  /** Which layers step `step` (0-based) leaves as they are, where a pass over the samples takes `epoch` steps. */
  frozenLayers(step: number, epoch: number): Layers | null;
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
  steps: null,
  batchShare: () => 1,
  gradients: null,
  adaptsBy: null,
  begin: () => new Map(),
  end: (_, { delta }, state) => ({ parts: new Map([[DELTA, delta]]), scalars: new Map(), state }),
  remember: ({ state }) => state,
  needsLoss: false,
  plainDescent: false,
  scope: WHOLE,
  frozenLayers: () => null,
  stopping: null,
  periodS: null,
  trainsPersonalModel: false,
  betweenRounds: {},
  needsTeacher: false,
};

/** Runs of the graph in a round, where a pass over the device's samples takes `epoch`. */
export const stepsOf = ({ steps, epochs }: Pick<Local, "steps" | "epochs">, epoch: number): number =>
  steps ?? epochs * epoch;

/** Each number of the tensors made another by those at the same place in `others`, and rounded to float32. */
export const combined = (tensors: Tensors, others: Tensors, by: (number: number, other: number) => number): Tensors =>
  new Map(
    [...tensors].map(([name, { shape, data }]): [string, Tensor] => {
      const other = others.get(name)?.data as Float32Array;
      return [
        name,
        float32(
          shape,
          data.map((number, at) => by(number, other[at] as number)),
        ),
      ];
    }),
  );

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
