/** A drift detector: when does a model's error rise? A mirror of `coterie_learning.drift`; it reads counts, never a clock. */
import type * as v from "valibot";
import { type KindOf, kind } from "../kinds";

/** A detector's state with its settings, as Python writes it: plain data that can be stored and restored. */
export interface DriftState {
  readonly detector: string;
  readonly settings: Settings;
}

/** Its name and hyperparameters, as a plan has them. */
export type Settings = Readonly<Record<string, unknown>>;

export interface Observed<S> {
  readonly state: S;
  /** Whether the latest batch showed drift. */
  readonly drifted: boolean;
}

export interface Detector {
  readonly settings: Settings;
  /** The state before any batch. */
  begin(): DriftState;
  /**
   * The state after a batch of `samples`, of which the model had `wrong` before it trained on them. Throws RangeError
   * unless 0 <= wrong <= samples and samples > 0.
   */
  observe(state: DriftState, wrong: number, samples: number): Observed<DriftState>;
}

/** A kind of detector with the hyperparameters `fields`: `first` is what it remembers before any batch, `next` what it does after one. */
export function detector<S extends v.ObjectEntries, M extends object>(
  name: string,
  fields: S,
  first: M,
  next: (
    given: v.InferOutput<v.StrictObjectSchema<S, undefined>>,
    memory: M,
    wrong: number,
    samples: number,
  ) => Observed<M>,
): KindOf<Detector> {
  return kind("drift", name, fields, (given) => {
    const settings: Settings = { kind: name, ...given };
    const stateOf = (memory: M): DriftState => ({ ...memory, detector: name, settings });
    return {
      settings,
      begin: () => stateOf(first),
      observe(state, wrong, samples) {
        if (!(samples > 0 && wrong >= 0 && wrong <= samples)) {
          throw new RangeError(`${wrong} of ${samples} samples cannot be wrong`);
        }
        const found = next(given, state as DriftState & M, wrong, samples);
        return { state: stateOf(found.state), drifted: found.drifted };
      },
    };
  });
}
