/** Slot `privacy`: what a device does to its update before it is encoded. */
import type { Tensors } from "../../wire/tensors";
import { Registry } from "../kinds";
import { centralNoise } from "./central_noise";
import { clip } from "./clip";
import { none } from "./none";

export interface Privacy {
  protect(update: Tensors): Tensors;
  /** What the kind does, for the device's owner. */
  readonly sentence: string;
}

export const PRIVACY = new Registry<Privacy>("privacy", [none, clip, centralNoise]);
