/**
 * Cartel: a device whose model fails asks the most similar devices that do well on the classes it fails on.
 *
 * Daga, Nicholson, Gavrilovska, Lugones 2019, doi 10.1145/3357223.3362708; portions of neural classifiers as in its
 * successor Canoe (arXiv 2108.12124).
 */
import * as v from "valibot";
import { CodedError } from "../../wire/errors";
import { DRIFT } from "../drift";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import type { HelpRules } from ".";

const share = v.optional(within(0, 1), 0);
const seconds = v.optional(positive(1e6), 60);

export const cartel = kind(
  "help",
  "cartel",
  {
    detector: v.optional(v.unknown(), { kind: "window" }),
    cool_down_batches: v.optional(whole(0, 1_000_000), 5),
    recent_batches: v.optional(whole(1, 1000), 2),
    window_batches: v.optional(whole(1, 1000), 10),
    prior_shift: v.optional(within(0, 1), 0.05),
    report_batches: v.optional(whole(1, 1_000_000), 10),
    noise_multiplier: v.optional(within(0, 1e3), 0),
    troubled_recall: v.optional(within(0, 1), 0.5),
    troubled_samples: v.optional(whole(1, 1_000_000), 3),
    portion: v.optional(v.picklist(["head", "head_and_units", "learner"]), "head_and_units"),
    share: v.optional(positive(1), 0.4),
    // By which the platform matches devices, and waits for them.
    largest_divergence: share,
    helper_recall: share,
    helper_error: share,
    serves_at_once: v.optional(whole(1, 10_000), 1),
    neighbours_tried: v.optional(whole(1, 100), 1),
    match_s: seconds,
    deliver_s: seconds,
    judge_s: seconds,
  },
  (given): HelpRules | null => {
    const [recentBatches, windowBatches] = [given.recent_batches, given.window_batches];
    if (recentBatches > windowBatches) throw invalid("recent_batches must not exceed window_batches");
    if (given.noise_multiplier > 0 && given.cool_down_batches === 0) {
      throw invalid("noise_multiplier needs cool_down_batches of 1 at least, or requests repeat what they tell");
    }
    return {
      detector: DRIFT.parse(given.detector),
      coolDownBatches: given.cool_down_batches,
      recentBatches,
      windowBatches,
      priorShift: given.prior_shift,
      reportBatches: given.report_batches,
      noiseMultiplier: given.noise_multiplier,
      troubledRecall: given.troubled_recall,
      troubledSamples: given.troubled_samples,
      portion: given.portion,
      share: given.share,
    };
  },
);

const invalid = (detail: string): CodedError => new CodedError("plan.invalid", `slot help, kind cartel: ${detail}`);
