/** Whole numbers of a wide step, most of them zero, entropy-coded: a mirror of `coterie_learning.codec.sparse_levels`. */
import * as v from "valibot";
import type { Tensor } from "../../wire/tensors";
import { kind, within } from "../kinds";
import { largestMagnitude, MOST, type Rounded, rootMeanSquare, roundToNearest } from "../levels";
import { SIGNS_AND_MAGNITUDES } from "../packings";
import { Real } from "./metadata";
import { each, streamed } from "./streamed";

/** Parameters; a tensor of fewer, such as a bias, is rounded to levels of int8: its mean square tells little. */
const SHORT = 256;

export const sparseLevelsCodec = kind(
  "codec",
  "sparse_levels",
  { step: v.optional(within(0.25, 16), 2), feedback: v.optional(v.boolean(), false) },
  ({ step, feedback }) =>
    streamed(
      { kind: "sparse_levels", step: new Real(step), feedback },
      SIGNS_AND_MAGNITUDES,
      feedback,
      each(({ data }: Tensor): Rounded => {
        const scale = data.length < SHORT ? largestMagnitude(data) / MOST : step * rootMeanSquare(data);
        return roundToNearest(data, scale);
      }),
    ),
);
