/** What codecs share whose codes travel deflated: a mirror of `coterie_learning.codec._streamed`. */
import { type AnyTensor, checkFinite, encodeTensors, float32, type Tensor, type Tensors } from "../../wire/tensors";
import { deflated } from "../code_streams";
import { approximated, joinedScales, type Rounded } from "../levels";
import type { Packing } from "../packings";
import type { Codec, Encoded } from ".";
import { metadataOf } from "./metadata";

/** The codec of the `settings`, as a plan writes it, that rounds each tensor by `round`; `feedsBack` as `Codec` has it. */
export function streamed(
  settings: Readonly<Record<string, unknown>>,
  packing: Packing,
  feedsBack: boolean,
  round: (update: Tensors, seed: number) => ReadonlyMap<string, Rounded>,
): Codec {
  return {
    feedsBack,
    encode(update, seed): Encoded {
      checkFinite(update, "update.not_finite");
      const rounded = round(update, seed);
      const [coded, scales, residual] = [new Map(), new Map<string, Float32Array>(), new Map<string, Tensor>()];
      for (const [name, { shape }] of update) {
        const one = rounded.get(name) as Rounded;
        coded.set(name, { shape, codes: one.codes });
        scales.set(name, one.scales);
        residual.set(name, float32(shape, one.residual));
      }
      const every = joinedScales(scales);
      const stored = new Map<string, AnyTensor>([
        ...deflated(coded, packing),
        ["scale", float32([every.length], every)],
      ]);
      return {
        payload: encodeTensors(stored, metadataOf(settings)),
        residual,
        sent: () => approximated(update, rounded),
      };
    },
  };
}

/** Each tensor by itself. */
export const each =
  (round: (tensor: Tensor, seed: number, name: string) => Rounded) =>
  (update: Tensors, seed: number): ReadonlyMap<string, Rounded> =>
    new Map([...update].map(([name, tensor]) => [name, round(tensor, seed, name)]));
