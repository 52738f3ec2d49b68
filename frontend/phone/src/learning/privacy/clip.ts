/** Clipping of the update's L2 norm, which bounds one device's influence (McMahan et al. 2018, arXiv 1710.06963). */
import * as v from "valibot";
import { kind, positive } from "../kinds";
import type { Privacy } from ".";
import { clipped } from "./clipping";
import { UNSPENT } from "./unspent";

export const clip = kind(
  "privacy",
  "clip",
  { norm: v.optional(positive(1e9), 10) },
  ({ norm }): Privacy => ({
    ...UNSPENT,
    protect: (update) => clipped(update, norm),
    sentence: "the platform sees what your device learned, shortened so that no device counts too much",
  }),
);
