/** No protection beyond what the codec loses: the update leaves as it is. */
import { kind } from "../kinds";
import type { Privacy } from ".";

export const none = kind(
  "privacy",
  "none",
  {},
  (): Privacy => ({
    protect: (update) => update,
    sentence: "nothing hides what your device learned from the platform",
  }),
);
