/**
 * FedNova, on the device: Δ_k/‖a_k‖₁ and ‖a_k‖₁ are sent (Wang et al. 2020, arXiv 2007.07481, equations 5 and 13): a mirror
 * of `coterie_learning.local.fed_nova`.
 */
import * as v from "valibot";
import { CodedError } from "../../wire/errors";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import { DELTA, type Local, NOT_ASKED, PLAIN, scaled } from "./interface";

export const fedNova = kind(
  "local",
  "fed_nova",
  {
    epochs: v.optional(whole(1, 1000), 1),
    learning_rate: v.optional(positive(100), 0.1),
    momentum: v.optional(v.pipe(v.number(), v.minValue(0), v.ltValue(1)), 0),
    mu: v.optional(within(0, 1000), 0),
  },
  ({ epochs, learning_rate, momentum, mu }): Local => {
    if ((momentum > 0 && mu > 0) || learning_rate * mu > 1) {
      throw new CodedError("plan.invalid", "slot local, kind fed_nova: momentum and mu together, or steps overshoot");
    }
    /** ‖a‖₁ of so many steps. */
    const normaliser = (steps: number): number => {
      if (momentum > 0) return (steps - (momentum * (1 - momentum ** steps)) / (1 - momentum)) / (1 - momentum);
      const pull = learning_rate * mu;
      return mu > 0 ? (1 - (1 - pull) ** steps) / pull : steps;
    };
    return {
      ...PLAIN,
      epochs,
      scalars: { ...NOT_ASKED, learning_rate, momentum, proximal_weight: mu },
      plainDescent: true,
      begin: ({ received }) => new Map([["anchor", received]]),
      end: (_, { delta, steps }, state) => {
        const divisor = Math.fround(normaliser(steps));
        const parts = new Map([[DELTA, scaled(delta, { divisor })]]);
        return { parts, scalars: new Map([["normaliser", divisor]]), state };
      },
    };
  },
);
