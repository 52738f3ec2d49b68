/** One signed byte a parameter, rounded at random so that the mean is right: `coterie_learning.codec.int8`. */
import * as v from "valibot";
import { type AnyTensor, checkFinite, encodeTensors, float32, type Tensor } from "../../wire/tensors";
import { kind } from "../kinds";
import { joinedScales, roundTensor } from "../levels";
import type { Codec } from ".";

const LEVELS = 127;

export const int8Codec = kind(
  "codec",
  "int8",
  { granularity: v.optional(v.picklist(["tensor", "channel"]), "channel") },
  ({ granularity }): Codec => ({
    encode(update, seed) {
      checkFinite(update, "update.not_finite");
      const [stored, scales] = [new Map<string, AnyTensor>(), new Map<string, Float32Array>()];
      const residual = new Map<string, Tensor>();
      for (const [name, tensor] of update) {
        const rounded = roundTensor(tensor, LEVELS, granularity, seed, name);
        stored.set(`code.${name}`, { dtype: "int8", shape: tensor.shape, data: rounded.codes });
        scales.set(name, rounded.scales);
        residual.set(name, float32(tensor.shape, rounded.residual));
      }
      const every = joinedScales(scales);
      stored.set("scale", float32([every.length], every));
      const metadata = new Map([["codec", `{"kind":"int8","granularity":"${granularity}"}`]]);
      return { payload: encodeTensors(stored, metadata), residual };
    },
  }),
);
