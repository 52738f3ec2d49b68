/** One signed byte a parameter, rounded at random so that the mean is right: `coterie_learning.codec.int8`. */
import * as v from "valibot";
import type { TensorSpec } from "../../wire/bundle";
import { type AnyTensor, checkFinite, encodeTensors, float32, type Tensor } from "../../wire/tensors";
import { kind } from "../kinds";
import { approximated, joinedScales, MOST, type Rounded, restored, roundTensor, scalesOf } from "../levels";
import type { Codec } from ".";
import { metadataOf } from "./metadata";
import { readPayload } from "./payload";

export const int8Codec = kind(
  "codec",
  "int8",
  { granularity: v.optional(v.picklist(["tensor", "channel"]), "channel") },
  ({ granularity }): Codec => {
    const metadata = metadataOf({ kind: "int8", granularity });
    return {
      feedsBack: true,
      encode(update, seed) {
        checkFinite(update, "update.not_finite");
        const [stored, scales] = [new Map<string, AnyTensor>(), new Map<string, Float32Array>()];
        const [residual, every] = [new Map<string, Tensor>(), new Map<string, Rounded>()];
        for (const [name, tensor] of update) {
          const rounded = roundTensor(tensor, MOST, granularity, seed, name);
          every.set(name, rounded);
          stored.set(`code.${name}`, { dtype: "int8", shape: tensor.shape, data: rounded.codes });
          scales.set(name, rounded.scales);
          residual.set(name, float32(tensor.shape, rounded.residual));
        }
        const scale = joinedScales(scales);
        stored.set("scale", float32([scale.length], scale));
        return { payload: encodeTensors(stored, metadata), residual, sent: () => approximated(update, every) };
      },
      decode(payload, expected) {
        const scale = scalesOf(expected, granularity);
        const codes = expected.map(({ name, shape }): TensorSpec => ({ name: `code.${name}`, dtype: "int8", shape }));
        const found = readPayload(payload, metadata, [...codes, scale]);
        return restored(
          new Map(expected.map(({ name }) => [name, found.get(`code.${name}`)?.data as Int8Array])),
          found.get("scale")?.data as Float32Array,
          expected,
          granularity,
        );
      },
    };
  },
);
