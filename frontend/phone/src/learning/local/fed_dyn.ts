/**
 * FedDyn, on the device: minimise F_k(y) - ⟨g_k, y⟩ + (α/2)·||y - w||² (Acar et al. 2021, arXiv 2111.04263, Algorithm 1):
 * a mirror of `coterie_learning.local.fed_dyn`. What is kept is g_k/α, minus the sum of the device's updates.
 */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import { whole } from "../whole";
import { DESCENT, scalarsOf } from "./descent";
import { combined, DELTA, type Local, PLAIN } from "./interface";
import { lessWhatWasSent, remembered, remembering } from "./remembering";

export const fedDyn = kind(
  "local",
  "fed_dyn",
  {
    ...DESCENT,
    alpha: v.optional(positive(1000), 0.1),
    keep_rounds: v.optional(whole(1, 1_000_000), 100),
  },
  (given): Local => ({
    ...PLAIN,
    epochs: given.epochs,
    scalars: scalarsOf(given, given.alpha),
    begin: (broadcast, state) => {
      const own = remembered(state, broadcast, given.keep_rounds);
      return new Map([["anchor", combined(broadcast.received, own, (number, mine) => number + mine)]]);
    },
    end: (broadcast, { delta }, state) => {
      const own = remembered(state, broadcast, given.keep_rounds);
      return { parts: new Map([[DELTA, delta]]), scalars: new Map(), state: remembering(own, broadcast) };
    },
    remember: lessWhatWasSent,
  }),
);
