/** Slot `help`: who helps a device whose model fails? */
import type { Detector } from "../drift/detector";
import { Registry } from "../kinds";
import { cartel } from "./cartel";
import { noHelp } from "./none";

/** Which part of its model a helper sends. */
export type PortionKind = "head" | "head_and_units" | "learner";

/** What devices that help each other go by; how they are matched is the platform's part. */
export interface HelpRules {
  readonly detector: Detector;
  /** Batches after a help request in which the device makes no other. */
  readonly coolDownBatches: number;
  /** Newest batches that a request describes and that a portion is judged on. */
  readonly recentBatches: number;
  /** Newest batches that its profile describes. */
  readonly windowBatches: number;
  /** Jensen-Shannon divergence, in bits, by which class shares move before they are told. */
  readonly priorShift: number;
  /** Batches after which its profile is told even if nothing moved. */
  readonly reportBatches: number;
  /** Standard deviation of the noise on each count that leaves the device, in times √2; 0: none. */
  readonly noiseMultiplier: number;
  /** Share of a class's samples found, for each sample that the model usually has right, below which the class is troubled. */
  readonly troubledRecall: number;
  /** Fewest recent samples of a class before the device asks for help with it. */
  readonly troubledSamples: number;
  readonly portion: PortionKind;
  /** Share of body units that a portion holds. */
  readonly share: number;
}

export const HELP = new Registry<HelpRules | null>("help", [noHelp, cartel]);
