/** Each tensor without its small parameters, and all of it entropy-coded: a mirror of `coterie_learning.codec.pruned`. */
import * as v from "valibot";
import type { Tensor } from "../../wire/tensors";
import { kind, positive } from "../kinds";
import { largestMagnitude, MOST, type Rounded, roundToNearest } from "../levels";
import { SIGNS_AND_MAGNITUDES } from "../packings";
import { alone, largest, ofAll } from "./largest";
import { Real } from "./metadata";
import { each, streamed } from "./streamed";

export const prunedCodec = kind(
  "codec",
  "pruned",
  { share: v.optional(positive(1), 0.05), feedback: v.optional(v.boolean(), true) },
  ({ share, feedback }) =>
    streamed(
      { kind: "pruned", share: new Real(share), feedback },
      SIGNS_AND_MAGNITUDES,
      feedback,
      each(({ data }: Tensor): Rounded => {
        const kept = alone(data, largest(data, share));
        return ofAll(roundToNearest(kept, stepOf(kept)), data, kept);
      }),
    ),
);

/** The smallest magnitude that is kept, or the largest divided by 127 if that is more; 0 where all are 0. */
function stepOf(kept: Float32Array): number {
  const most = largestMagnitude(kept);
  if (most === 0) return 0;
  const least = kept.reduce((found, number) => (number === 0 ? found : Math.min(found, Math.abs(number))), most);
  return Math.max(least, most / MOST);
}
