/** The update as it is, four bytes a parameter. */
import { checkFinite, encodeTensors, float32, type Tensors } from "../../wire/tensors";
import { kind } from "../kinds";
import type { Codec } from ".";
import { metadataOf } from "./metadata";
import { readPayload } from "./payload";

export const float32Codec = kind("codec", "float32", {}, (): Codec => {
  const metadata = metadataOf({ kind: "float32" });
  return {
    feedsBack: true,
    encode(update) {
      checkFinite(update, "update.not_finite");
      const nothing = new Map([...update].map(([name, { shape }]) => [name, float32(shape)]));
      return { payload: encodeTensors(update, metadata), residual: nothing, sent: () => update };
    },
    decode: (payload, expected) => readPayload(payload, metadata, expected) as Tensors,
  };
});
