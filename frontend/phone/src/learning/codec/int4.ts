/** Half a byte a parameter, and less once it is deflated: a mirror of `coterie_learning.codec.int4`. */
import * as v from "valibot";
import { codesOf, streamSpecs } from "../code_streams";
import { kind } from "../kinds";
import { restored, roundTensor, scalesOf } from "../levels";
import { PAIRS } from "../packings";
import type { Codec } from ".";
import { metadataOf } from "./metadata";
import { readPayload } from "./payload";
import { each, streamed } from "./streamed";

const LEVELS = 7;

export const int4Codec = kind(
  "codec",
  "int4",
  { granularity: v.optional(v.picklist(["tensor", "channel"]), "channel") },
  ({ granularity }): Codec => {
    const settings = { kind: "int4", granularity };
    const round = each((tensor, seed, name) => roundTensor(tensor, LEVELS, granularity, seed, name));
    return {
      ...streamed(settings, PAIRS, true, round),
      decode(payload, expected) {
        const stored = readPayload(payload, metadataOf(settings), (stated) => [
          ...streamSpecs(expected, stated, PAIRS),
          scalesOf(expected, granularity),
        ]);
        const scales = stored.get("scale")?.data as Float32Array;
        return restored(codesOf(stored, expected, PAIRS), scales, expected, granularity);
      },
    };
  },
);
