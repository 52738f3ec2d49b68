/** Local fine-tuning: each version is trained further on the device's own samples (Wang et al. 2019, arXiv 1910.10252). */
import * as v from "valibot";
import { kind, positive, within } from "../kinds";
import type { Personal } from ".";

const whole = (most: number) => v.pipe(within(1, most), v.integer());

export const fineTuned = kind(
  "personal",
  "fine_tuned",
  {
    epochs: v.optional(whole(1000), 40),
    steps: v.optional(v.nullable(whole(1_000_000)), null),
    learning_rate: v.optional(v.nullable(positive(100)), null),
    patience: v.optional(whole(1000), 5),
    again_share: v.optional(positive(1), 0.2),
  },
  ({ epochs, steps, learning_rate, patience, again_share }): Personal => ({
    rules: ({ scalars }) => ({
      epochs,
      steps,
      patience,
      scalars: {
        ...scalars,
        learning_rate: learning_rate ?? scalars.learning_rate,
        proximal_weight: 0,
        distillation_weight: 0,
      },
      againShare: again_share,
    }),
  }),
);
