/**
 * Sums of first and second derivatives instead of steps, for merges that solve (boosted trees, Newton's method): a mirror
 * of `coterie_learning.local.second_order`. One pass over the samples leaves in the model's tables the means of all.
 */
import { kind } from "../kinds";
import { type Local, NOT_ASKED, PLAIN } from "./interface";

export const secondOrder = kind(
  "local",
  "second_order",
  {},
  (): Local => ({
    ...PLAIN,
    epochs: 1,
    scalars: { ...NOT_ASKED, learning_rate: 1 },
    batchShare: (samples, of) => samples / of,
  }),
);
