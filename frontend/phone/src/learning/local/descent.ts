/** What kinds share that descend by mini-batches: hyperparameters and scalars (`coterie_learning.local._descent`). */
import * as v from "valibot";
import { positive, within } from "../kinds";
import { whole } from "../whole";
import type { StepScalars } from "./interface";

export const DESCENT = {
  epochs: v.optional(whole(1, 1000), 1),
  learning_rate: v.optional(positive(100), 0.1),
  momentum: v.optional(v.pipe(v.number(), v.minValue(0), v.ltValue(1)), 0),
  weight_decay: v.optional(within(0, 1), 0),
  clip_norm: v.optional(v.nullable(positive(1e9)), null),
};

type Descent = v.InferOutput<v.StrictObjectSchema<typeof DESCENT, undefined>>;

/** `pull` is μ, the weight of the proximal term. */
export function scalarsOf(given: Descent, pull: number): StepScalars {
  return {
    learning_rate: given.learning_rate,
    momentum: given.momentum,
    weight_decay: given.weight_decay,
    clip_norm: given.clip_norm ?? Number.POSITIVE_INFINITY,
    proximal_weight: pull,
    distillation_weight: 0,
  };
}
