/** What kinds share that train a personal model by descent: hyperparameters, and the scalars of a step. */
import * as v from "valibot";
import { positive } from "../kinds";
import type { Local, StepScalars } from "../local/interface";
import { whole } from "../whole";

export const TUNING = {
  learning_rate: v.optional(v.nullable(positive(100)), null),
  patience: v.optional(whole(1, 1000), 5),
  again_share: v.optional(positive(1), 0.2),
};

/** Those of the rounds' steps, without a teacher; `pull` is the weight of the proximal term. */
export const tuningScalars = (
  { scalars, adaptsBy }: Local,
  learningRate: number | null,
  pull: number,
): StepScalars => ({
  ...scalars,
  learning_rate: learningRate ?? adaptsBy ?? scalars.learning_rate,
  proximal_weight: pull,
  distillation_weight: 0,
});
