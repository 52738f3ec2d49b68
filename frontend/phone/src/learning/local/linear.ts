/**
 * A linear term ⟨d, w⟩ in a device's loss, by way of the train step's proximal term: a mirror of
 * `coterie_learning.local._linear`, which says why nothing of d is lost.
 */
import type { Tensors } from "../../wire/tensors";
import { combined } from "./interface";

/** The proximal weight, μ. */
export const WEIGHT = 2 ** -100;

/** The anchor by which a step's gradient is increased by `slope`, d; both by parameter. */
export const anchorOf = (received: Tensors, slope: Tensors): Tensors =>
  combined(received, slope, (number, one) => number - Math.fround(one / WEIGHT));
