/** Slot `privacy`: what a device does to its update before it is encoded, and what that is worth. */
import type { Tensors } from "../../wire/tensors";
import { Registry } from "../kinds";
import { centralNoise } from "./central_noise";
import { clip } from "./clip";
import { correlatedNoise } from "./correlated_noise";
import { distributedNoise } from "./distributed_noise";
import { localNoise } from "./local_noise";
import type { Masking } from "./masking";
import { none } from "./none";
import { secureAggregation } from "./secure_aggregation";

export interface Privacy {
  /** The update that may leave; `secret`, of 256 bits, is drawn by the device and known to nobody else. */
  protect(update: Tensors, secret: bigint): Tensors;
  /** What the kind does, for the device's owner. */
  readonly sentence: string;
  /** What is released with a guarantee that is spent: each update by itself, by the device; their sums, by the platform; or sums under masks, by the devices together. */
  readonly releases: "nothing" | "updates" | "sums" | "masked_sums";
  /** Of the one Gaussian mechanism that a release costs as much as; null: nothing is spent. */
  readonly noiseMultiplier: number | null;
  /** How far two parts of the device are apart at least; null: releases are no stream. */
  readonly apart: number | null;
  /** How updates and all that devices measure are hidden in their sum; null: each is sent to be read. */
  readonly masking: Masking | null;
}

export const PRIVACY = new Registry<Privacy>("privacy", [
  none,
  clip,
  centralNoise,
  correlatedNoise,
  localNoise,
  secureAggregation,
  distributedNoise,
]);
