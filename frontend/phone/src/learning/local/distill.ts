/**
 * Colla's client update: L = λ_d·CE(y, p) + (1 - λ_d)·CE(q_cloud, p), no temperature (Lu et al. 2019, SEC, stage 3): a
 * mirror of `coterie_learning.local.distill`.
 */
import * as v from "valibot";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import { type Local, NOT_ASKED, PLAIN, WHOLE } from "./interface";

const DAY_S = 86_400;
const below1 = v.pipe(v.number(), v.minValue(0), v.ltValue(1));

export const distill = kind(
  "local",
  "distill",
  {
    lambda_d: v.optional(within(0, 1), 0.5),
    learning_rate: v.optional(positive(100), 0.1),
    momentum: v.optional(below1, 0),
    epochs: v.optional(whole(1, 1000), 100),
    patience: v.optional(whole(1, 1000), 20),
    validation_share: v.optional(below1, 0.2),
    period_days: v.optional(positive(3650), 20),
    head: v.optional(v.picklist(["all", "seen"]), "seen"),
    body: v.optional(v.picklist(["trained", "frozen"]), "trained"),
  },
  (given): Local => {
    const scalars = { ...NOT_ASKED, learning_rate: given.learning_rate, momentum: given.momentum };
    return {
      ...PLAIN,
      epochs: given.epochs,
      scalars: { ...scalars, distillation_weight: 1 - given.lambda_d },
      // Once through and from labels only: there is no teacher.
      betweenRounds: { epochs: 1, scalars },
      scope: { ...WHOLE, head: given.head, body: given.body },
      stopping: { patience: given.patience, share: given.validation_share },
      periodS: given.period_days * DAY_S,
      trainsPersonalModel: true,
      needsTeacher: given.lambda_d < 1,
    };
  },
);
