/** Slot `codec`: how an update travels. */
import type { Tensors } from "../../wire/tensors";
import { Registry } from "../kinds";
import { float32Codec } from "./float32";
import { int8Codec } from "./int8";

export interface Encoded {
  readonly payload: Uint8Array;
  /** What the encoding lost of each tensor, to be added to the next update. */
  readonly residual: Tensors;
}

export interface Codec {
  /** The same update and seed give the same bytes. Throws CodedError `update.not_finite`. */
  encode(update: Tensors, seed: number): Encoded;
}

export const CODEC = new Registry<Codec>("codec", [float32Codec, int8Codec]);
