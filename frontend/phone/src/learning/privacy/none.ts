/** No protection beyond what the codec loses: the update leaves as it is. */
import { kind } from "../kinds";
import type { Privacy } from ".";
import { UNSPENT } from "./unspent";

export const none = kind(
  "privacy",
  "none",
  {},
  (): Privacy => ({
    ...UNSPENT,
    protect: (update) => update,
    sentence: "nothing hides what your device learned from the platform",
  }),
);
