/**
 * A shared body and layers of one's own: FedPer (Arivazhagan et al. 2019, arXiv 1912.00818, Algorithm 1) and FedRep
 * (Collins et al. 2021, arXiv 2102.07089, Algorithm 1): a mirror of `coterie_learning.local.shared_body`. Either way the
 * body alone is uploaded.
 */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import { whole } from "../whole";
import { type Local, NOT_ASKED, PLAIN, WHOLE } from "./interface";

export const sharedBody = kind(
  "local",
  "shared_body",
  {
    personal: v.optional(v.pipe(v.string(), v.regex(/\S/), v.maxLength(2000)), "head"),
    head_epochs: v.optional(whole(0, 1000), 0),
    epochs: v.optional(whole(1, 1000), 1),
    learning_rate: v.optional(positive(100), 0.1),
  },
  ({ personal, head_epochs, epochs, learning_rate }): Local => ({
    ...PLAIN,
    epochs: head_epochs + epochs,
    scalars: { ...NOT_ASKED, learning_rate },
    // What an adaptive optimiser remembers would move in the passes in which its parameters do not.
    plainDescent: head_epochs > 0,
    scope: { ...WHOLE, personal: personal.trim().split(/\s+/) },
    frozenLayers: (step, epoch) => {
      if (head_epochs === 0) return null;
      return step < head_epochs * epoch ? "shared" : "personal";
    },
    trainsPersonalModel: true,
  }),
);
