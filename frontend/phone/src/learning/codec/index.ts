/** Slot `codec`: how an update travels. */
import type { TensorSpec } from "../../wire/bundle";
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
  /**
   * The tensors of `payload`, which must be exactly those `expected`. Left out: too coarse for what devices send each
   * other. Throws CodedError `update.malformed`, `update.wrong_codec`, `update.wrong_shape` or `update.not_finite`.
   */
  decode?(payload: Uint8Array, expected: readonly TensorSpec[]): Tensors;
}

export const CODEC = new Registry<Codec>("codec", [float32Codec, int8Codec]);
