/** Slot `codec`: how an update travels. */
import type { TensorSpec } from "../../wire/bundle";
import type { Tensors } from "../../wire/tensors";
import { Registry } from "../kinds";
import { float32Codec } from "./float32";
import { int4Codec } from "./int4";
import { int8Codec } from "./int8";
import { oneBitCodec } from "./one_bit";
import { prunedCodec } from "./pruned";
import { sparseLevelsCodec } from "./sparse_levels";
import { topKCodec } from "./top_k";

export interface Encoded {
  readonly payload: Uint8Array;
  /** What the encoding lost of each tensor, to be added to the next update. */
  readonly residual: Tensors;
  /** The tensors as the platform reads them. */
  readonly sent: () => Tensors;
}

export interface Codec {
  /** Whether the device adds what the encoding has lost to its next update. */
  readonly feedsBack: boolean;
  /** The same update and seed give the same bytes. Throws CodedError `update.not_finite`. */
  encode(update: Tensors, seed: number): Encoded;
  /**
   * The tensors of `payload`, which must be exactly those `expected`. Left out: too coarse for what devices send each
   * other. Throws CodedError `update.malformed`, `update.wrong_codec`, `update.wrong_shape` or `update.not_finite`.
   */
  decode?(payload: Uint8Array, expected: readonly TensorSpec[]): Tensors;
}

export const CODEC = new Registry<Codec>("codec", [
  float32Codec,
  int8Codec,
  int4Codec,
  topKCodec,
  sparseLevelsCodec,
  prunedCodec,
  oneBitCodec,
]);
