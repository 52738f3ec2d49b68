/** Slot `local`: how a device learns. */
import type { Tensors } from "../../wire/tensors";
import { Registry } from "../kinds";
import { prox } from "./prox";
import { sgd } from "./sgd";

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

export interface Local {
  readonly epochs: number;
  /** The scalars of every step. */
  readonly scalars: StepScalars;
  /** Inputs of every step by parameter, for each role, from the parameters that were `received`. */
  begin(received: Tensors): ReadonlyMap<string, Tensors>;
}

export const LOCAL = new Registry<Local>("local", [sgd, prox]);
