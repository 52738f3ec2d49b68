/** The Page-Hinkley test for a rise of the mean (Page 1954, doi 10.2307/2333009). */
import * as v from "valibot";
import { positive, within } from "../kinds";
import { detector } from "./detector";

const FIRST = { samples: 0, wrong: 0, risen: 0 };

/** Drift is a sum of errors beyond the mean so far and `slack` that exceeds `threshold`; it begins anew after it. */
export const pageHinkley = detector(
  "page_hinkley",
  { slack: v.optional(within(0, 1), 0.01), threshold: v.optional(positive(1e6), 20) },
  FIRST,
  ({ slack, threshold }, memory, wrong, samples) => {
    const [allSamples, allWrong] = [memory.samples + samples, memory.wrong + wrong];
    const risen = Math.max(0, memory.risen + samples * (wrong / samples - allWrong / allSamples - slack));
    if (risen > threshold) return { state: FIRST, drifted: true };
    return { state: { samples: allSamples, wrong: allWrong, risen }, drifted: false };
  },
);
