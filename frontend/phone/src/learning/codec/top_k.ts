/**
 * Only the parameters that have changed most; the others wait on the device until they have (Stich et al. 2018, arXiv
 * 1809.07599; Sattler et al. 2019, arXiv 1903.02891): a mirror of `coterie_learning.codec.top_k`.
 */
import * as v from "valibot";
import type { Tensor, Tensors } from "../../wire/tensors";
import { exactSum } from "../exact_sum";
import { flat, spansOf } from "../flat";
import { kind, positive } from "../kinds";
import { largestMagnitude, largestScale, MOST, type Rounded, roundToNearest } from "../levels";
import { SIGNS_AND_MAGNITUDES } from "../packings";
import { alone, largest, ofAll } from "./largest";
import { Real } from "./metadata";
import { streamed } from "./streamed";

export const topKCodec = kind(
  "codec",
  "top_k",
  {
    share: v.optional(positive(1), 0.025),
    value: v.optional(v.picklist(["sign", "int8"]), "sign"),
    feedback: v.optional(v.boolean(), true),
  },
  ({ share, value, feedback }) => {
    const settings = { kind: "top_k", share: new Real(share), value, feedback };
    const rounded = value === "sign" ? bySign : byLevel;
    return streamed(settings, SIGNS_AND_MAGNITUDES, feedback, (update) => {
      const chosen = chosenOf(update, share);
      return new Map([...update].map(([name, tensor]) => [name, rounded(tensor, chosen.get(name) as Uint8Array)]));
    });
  },
);

/** 1 where each tensor has one of the `share` of largest magnitudes of all, of equal ones the first in the names' order. */
function chosenOf(update: Tensors, share: number): ReadonlyMap<string, Uint8Array> {
  const chosen = largest(flat(update), share);
  return new Map(spansOf(update).map(({ name, start, stop }) => [name, chosen.subarray(start, stop)]));
}

function byLevel({ data }: Tensor, chosen: Uint8Array): Rounded {
  const kept = alone(data, chosen);
  return ofAll(roundToNearest(kept, largestMagnitude(kept) / MOST), data, kept);
}

function bySign({ data }: Tensor, chosen: Uint8Array): Rounded {
  const kept = data.filter((_, at) => chosen[at] === 1);
  const mean = exactSum(kept.map(Math.abs)) / Math.max(kept.length, 1);
  const scale = Math.min(Math.fround(mean), largestScale(MOST));
  const codes = Int8Array.from(data, (number, at) => (chosen[at] === 1 ? Math.sign(number) : 0));
  const residual = data.map((number, at) => number - (codes[at] as number) * scale);
  return { codes, scales: Float32Array.of(scale), residual };
}
