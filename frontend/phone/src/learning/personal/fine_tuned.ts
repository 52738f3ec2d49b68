/** Local fine-tuning: each version is trained further on the device's own samples (Wang et al. 2019, arXiv 1910.10252). */
import * as v from "valibot";
import { kind } from "../kinds";
import { whole } from "../whole";
import type { Personal } from ".";
import { TUNING, tuningScalars } from "./tuning";

export const fineTuned = kind(
  "personal",
  "fine_tuned",
  { ...TUNING, epochs: v.optional(whole(1, 1000), 40), steps: v.optional(v.nullable(whole(1, 1_000_000)), null) },
  ({ epochs, steps, learning_rate, patience, again_share }): Personal => ({
    rules: (local) => ({
      epochs,
      steps,
      patience,
      scalars: tuningScalars(local, learning_rate, 0),
      startsFrom: "version",
      againShare: again_share,
    }),
  }),
);
