/**
 * Ditto: each device's own model v solves min F(v) + (mu/2)·||v - w||² beside the version w (Li et al. 2021, arXiv
 * 2012.04221, Algorithm 1): v goes on from round to round, held near each new w.
 */
import * as v from "valibot";
import { kind, within } from "../kinds";
import { whole } from "../whole";
import type { Personal } from ".";
import { TUNING, tuningScalars } from "./tuning";

export const ditto = kind(
  "personal",
  "ditto",
  { ...TUNING, mu: v.optional(within(0, 1000), 1), epochs: v.optional(whole(1, 1000), 5) },
  ({ mu, epochs, learning_rate, patience, again_share }): Personal => ({
    rules: (local) => ({
      epochs,
      steps: null,
      patience,
      scalars: tuningScalars(local, learning_rate, mu),
      startsFrom: "personal model",
      againShare: again_share,
    }),
  }),
);
