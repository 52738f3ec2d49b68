/**
 * A control chart of the device's own errors: drift is an error beyond the limits that its own past draws.
 *
 * The p' chart (Laney 2002, doi 10.1081/QEN-120006555): Shewhart's limits for a share, widened by as much as past
 * batches varied more than chance explains.
 */
import * as v from "valibot";
import { positive } from "../kinds";
import { whole } from "../whole";
import { detector } from "./detector";

/** Samples, and wrong ones. */
type Batch = readonly [samples: number, wrong: number];

/** Drift is a mean error of the newest batches above that of the batches before, by more than these usually vary. */
export const controlChart = detector(
  "control_chart",
  {
    deviations: v.optional(positive(100), 4),
    batches: v.optional(whole(1, 1000), 2),
    past_batches: v.optional(whole(2, 1000), 20),
  },
  { kept: [] as readonly Batch[] },
  ({ deviations, batches, past_batches: before }, memory, wrong, samples) => {
    const kept: readonly Batch[] = [...memory.kept, [samples, wrong] as const].slice(-(batches + before));
    const past = kept.slice(0, -batches);
    const isLong = past.length >= Math.max(2, before / 2);
    return { state: { kept }, drifted: isLong && exceeds(kept.slice(-batches), past, deviations) };
  },
);

function exceeds(newest: readonly Batch[], past: readonly Batch[], deviations: number): boolean {
  const [samples, wrong] = [sum(newest, 0), sum(newest, 1)];
  const [pastSamples, pastWrong] = [sum(past, 0), sum(past, 1)];
  // Laplace's rule of succession: an error that never occurred is not impossible.
  const usual = (pastWrong + 1) / (pastSamples + 2);
  const chance = usual * (1 - usual);
  const squares = past.reduce((total, [one, oneWrong]) => total + (oneWrong - one * usual) ** 2 / (one * chance), 0);
  const variation = Math.max(1, squares / (past.length - 1));
  const spread = Math.sqrt(variation * chance * (1 / samples + 1 / pastSamples));
  // Half a sample: counts are whole, and their distribution is skewed where errors are rare.
  return (wrong - 0.5) / samples > usual + deviations * spread;
}

const sum = (batches: readonly Batch[], part: 0 | 1): number => batches.reduce((total, one) => total + one[part], 0);
