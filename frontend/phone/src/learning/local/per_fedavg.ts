/**
 * Per-FedAvg: w ← w - β·(I - α·∇²f(w; D''))·∇f(w - α·∇f(w; D); D') with three batches a step (Fallah et al. 2020, arXiv
 * 2002.07948, Algorithm 1 and section 5): a mirror of `coterie_learning.local.per_fedavg`.
 */
import * as v from "valibot";
import type { Tensors } from "../../wire/tensors";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import { combined, GRADIENT_RATE, type Gradients, type Local, NOT_ASKED, PLAIN } from "./interface";

export const perFedAvg = kind(
  "local",
  "per_fedavg",
  {
    steps: v.optional(whole(1, 100_000), 4),
    alpha: v.optional(within(0, 100), 0.5),
    beta: v.optional(positive(100), 0.05),
    hessian: v.optional(v.picklist(["free", "none"]), "free"),
    delta: v.optional(positive(1), 1e-3),
  },
  ({ steps, alpha, beta, hessian, delta }): Local => {
    const gradients = hessian === "free" ? hessianFree(alpha, beta, delta) : firstOrder(alpha, beta);
    return {
      ...PLAIN,
      epochs: 1,
      steps: steps * gradients.runs,
      scalars: { ...NOT_ASKED, learning_rate: GRADIENT_RATE },
      gradients,
      adaptsBy: alpha,
      plainDescent: true,
    };
  },
);

/** The second derivative is left out: the step is the gradient where the first one leads. */
const firstOrder = (alpha: number, beta: number): Gradients => ({
  runs: 2,
  batch: (run) => run,
  move: (begun, [first, step]) => moved(begun, -(step === undefined ? alpha : beta), step ?? (first as Tensors)),
});

/** The product of the second derivative with that gradient is [∇f(w + δ·v) - ∇f(w - δ·v)]/(2δ). */
const hessianFree = (alpha: number, beta: number, delta: number): Gradients => ({
  runs: 4,
  // Both gradients that are compared are of the third batch.
  batch: (run) => 3 * Math.floor(run / 4) + Math.min(run % 4, 2),
  move: (begun, [first, step, ahead, behind]) => {
    if (step === undefined) return moved(begun, -alpha, first as Tensors);
    if (ahead === undefined) return moved(begun, delta, step);
    if (behind === undefined) return moved(begun, -delta, step);
    const curved = Math.fround(alpha / (2 * delta));
    const difference = combined(ahead, behind, (one, other) => one - other);
    return moved(
      begun,
      -beta,
      combined(step, difference, (number, more) => number - Math.fround(curved * more)),
    );
  },
});

/** In float32, as everything here: each product is rounded before it is added. */
function moved(begun: Tensors, rate: number, direction: Tensors): Tensors {
  const factor = Math.fround(rate);
  return combined(begun, direction, (number, along) => number + Math.fround(factor * along));
}
