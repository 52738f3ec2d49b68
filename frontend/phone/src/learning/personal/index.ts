/** Slot `personal`: does a device keep a model of its own beside the version, and how is it trained? */
import { Registry } from "../kinds";
import type { Local, StepScalars } from "../local/interface";
import { ditto } from "./ditto";
import { fineTuned } from "./fine_tuned";
import { noPersonal } from "./none";

/** How a device trains its personal model. */
export interface PersonalRules {
  /** Passes over its samples, at most. */
  readonly epochs: number;
  /** Steps at most, however many the epochs have; null: as many as they have. */
  readonly steps: number | null;
  /** Epochs without a lower loss on the samples held out after which it ends. */
  readonly patience: number;
  readonly scalars: StepScalars;
  /** The personal model is where training goes on, once there is one. */
  readonly startsFrom: "version" | "personal model";
  /** Share of the samples that must be new before it trains again under the same version. */
  readonly againShare: number;
}

export interface Personal {
  /** How it is trained, where rounds train by `local`; null: there is none. */
  rules(local: Local): PersonalRules | null;
}

export const PERSONAL = new Registry<Personal>("personal", [noPersonal, fineTuned, ditto]);
