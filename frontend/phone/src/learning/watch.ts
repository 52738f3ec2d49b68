/** When a device reports its profile, and when and for which classes it asks for help: a mirror of `coterie_learning.watch`, for a device that counts no predictions. */
import type { DriftState } from "./drift/detector";
import type { HelpRules } from "./help";
import {
  type ClassProfile,
  type Counts,
  countsBefore,
  countsOf,
  errorOf,
  jensenShannon,
  observed,
  priorOf,
  troubledOf,
} from "./profile";
import { noised } from "./profile_noise";

/** The state of a device's evaluation of its personal model: plain data that can be stored and restored. */
export interface Watch {
  readonly drift: DriftState;
  readonly profile: ClassProfile;
  /** Samples of each class in the profile that was last reported, as they were told; empty: never. */
  readonly reported: readonly number[];
  /** How many of them were told to be predicted wrongly. */
  readonly reportedWrong: readonly number[];
  readonly batchesUnreported: number;
  /** Batches since the last help request; null: there was none. */
  readonly batchesQuiet: number | null;
  /** Batches since the detector last found drift; null: never, or too long ago to matter. */
  readonly batchesDrifted: number | null;
}

/** What a device tells when it asks for help. */
export interface Request {
  /** Those that it needs help with; none where noise hides that it needs any. */
  readonly classes: readonly number[];
  /** Of its newest batches. */
  readonly counts: Counts;
}

/** The state for a model of `classes` classes, before any batch. */
export const begunWatch = (rules: HelpRules, classes: number): Watch => ({
  drift: rules.detector.begin(),
  profile: { classes, keep: rules.windowBatches, batches: [] },
  reported: [],
  reportedWrong: [],
  batchesUnreported: 0,
  batchesQuiet: null,
  batchesDrifted: null,
});

/**
 * The state after a batch of true `labels`, `predicted` by the model before it trains on the batch. Throws RangeError
 * for an empty batch or labels outside the classes.
 */
export function watched(
  watch: Watch,
  rules: HelpRules,
  labels: readonly number[],
  predicted: readonly number[],
): Watch {
  const profile = observed(watch.profile, labels, predicted);
  const isSame = JSON.stringify(watch.drift.settings) === JSON.stringify(rules.detector.settings);
  const wrong = labels.filter((label, at) => label !== predicted[at]).length;
  const { state, drifted } = rules.detector.observe(
    isSame ? watch.drift : rules.detector.begin(),
    wrong,
    labels.length,
  );
  const [quiet, since] = [watch.batchesQuiet, watch.batchesDrifted];
  const later = since === null || since + 1 >= rules.recentBatches ? null : since + 1;
  return {
    ...watch,
    drift: state,
    profile,
    batchesUnreported: watch.batchesUnreported + 1,
    batchesQuiet: quiet === null ? null : quiet + 1,
    batchesDrifted: drifted ? 0 : later,
  };
}

/** Whether the detector found drift within the newest batches: such a device is not asked for help. */
export const isDrifting = ({ batchesDrifted }: Watch): boolean => batchesDrifted !== null;

/** What a help request describes. */
export const recent = ({ profile }: Watch, rules: HelpRules): Counts => countsOf(profile, rules.recentBatches);

/** The classes that a device asks help for now; none where it does not ask. */
export function asksFor(watch: Watch, rules: HelpRules): number[] {
  const isResting = watch.batchesQuiet !== null && watch.batchesQuiet < rules.coolDownBatches;
  return isDrifting(watch) && !isResting ? troubled(watch, rules, rules.troubledSamples) : [];
}

/** The classes of which the model finds far fewer than it usually finds of all samples, with `fewest` samples among the newest. */
export function troubled(watch: Watch, rules: HelpRules, fewest: number): number[] {
  const usual = 1 - errorOf(countsBefore(watch.profile, rules.recentBatches));
  return troubledOf(recent(watch, rules), rules.troubledRecall * usual, fewest);
}

/** What a device that asks for help tells; with noise, drawn from the secret `key`, the classes follow from what is told. */
export function requestOf(watch: Watch, rules: HelpRules, key: bigint): Request {
  const counts = recent(watch, rules);
  if (rules.noiseMultiplier === 0) return { classes: asksFor(watch, rules), counts };
  const told = noised(counts, rules.noiseMultiplier, key);
  const below = rules.troubledRecall * (1 - errorOf(lastTold(watch)));
  return { classes: troubledOf(told, below, rules.troubledSamples), counts: told };
}

/** The state after a help request, or one that noise has left nothing of. */
export const asked = (watch: Watch): Watch => ({ ...watch, batchesQuiet: 0 });

/** Whether class shares have changed enough, or enough batches have passed, to report the profile again. */
export function isReportDue(watch: Watch, rules: HelpRules): boolean {
  if (watch.profile.batches.length === 0) return false;
  if (watch.reported.length === 0 || watch.batchesUnreported >= rules.reportBatches) return true;
  if (rules.noiseMultiplier > 0) return false;
  const now = countsOf(watch.profile, rules.windowBatches);
  return jensenShannon(priorOf(now), priorOf(lastTold(watch))) > rules.priorShift;
}

/** What a report tells now, and the state after it; with noise what was told last until another report is due. */
export function reportOf(
  watch: Watch,
  rules: HelpRules,
  key: bigint,
): { readonly told: Counts; readonly after: Watch } {
  const isNoised = rules.noiseMultiplier > 0;
  if (isNoised && !isReportDue(watch, rules)) return { told: lastTold(watch), after: watch };
  const counts = countsOf(watch.profile, rules.windowBatches);
  const told = isNoised ? noised(counts, rules.noiseMultiplier, key) : counts;
  return {
    told,
    after: { ...watch, reported: told.samples, reportedWrong: told.wrong, batchesUnreported: 0 },
  };
}

const lastTold = ({ reported, reportedWrong }: Watch): Counts => ({ samples: reported, wrong: reportedWrong });
