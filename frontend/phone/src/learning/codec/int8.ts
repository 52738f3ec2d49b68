/** One signed byte a parameter, rounded at random so that the mean is right: `coterie_learning.codec.int8`. */
import * as v from "valibot";
import type { TensorSpec } from "../../wire/bundle";
import { type AnyTensor, checkFinite, encodeTensors, float32, type Tensor } from "../../wire/tensors";
import { kind } from "../kinds";
import { dividedScales, joinedScales, multiplied, roundTensor, scaleCount } from "../levels";
import type { Codec } from ".";
import { readPayload } from "./payload";

const LEVELS = 127;

export const int8Codec = kind(
  "codec",
  "int8",
  { granularity: v.optional(v.picklist(["tensor", "channel"]), "channel") },
  ({ granularity }): Codec => {
    const metadata = new Map([["codec", `{"kind":"int8","granularity":"${granularity}"}`]]);
    return {
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
        return { payload: encodeTensors(stored, metadata), residual };
      },
      decode(payload, expected) {
        const counts = expected.map(({ shape }) => scaleCount(shape, granularity));
        const stored: TensorSpec[] = [
          ...expected.map(({ name, shape }): TensorSpec => ({ name: `code.${name}`, dtype: "int8", shape })),
          { name: "scale", dtype: "float32", shape: [counts.reduce((sum, count) => sum + count, 0)] },
        ];
        const found = readPayload(payload, metadata, stored);
        const scales = dividedScales(found.get("scale")?.data as Float32Array, expected, counts);
        const update = new Map(
          expected.map(({ name, shape }): [string, Tensor] => {
            const codes = found.get(`code.${name}`)?.data as Int8Array;
            return [name, float32(shape, multiplied(codes, scales.get(name) as Float32Array))];
          }),
        );
        checkFinite(update, "update.not_finite");
        return update;
      },
    };
  },
);
