/** A portion as it travels, clipped and encoded like an update: a mirror of `coterie_learning.portions.payload`. */
import { classesOf, type ModelSpec, type TensorSpec } from "../../wire/bundle";
import { CodedError } from "../../wire/errors";
import type { Tensors } from "../../wire/tensors";
import type { Codec } from "../codec";
import { type DevicePlan, parseDevicePlan } from "../plan";
import type { Privacy } from "../privacy";
import { checkClasses, mergeRows, partitionRows, rowSpecs, unsupported } from "./rows";
import { mergeUnits, partitionUnits, unitSpecs } from "./units";

/** What helper, target and platform agree on before anything is sent. */
export interface Terms {
  readonly model: ModelSpec;
  /** Those that the target has trouble with, ascending. */
  readonly classes: readonly number[];
  readonly portion: "head" | "head_and_units";
  /** Share of body units that a portion holds. */
  readonly share: number;
  readonly codec: Codec;
  readonly privacy: Privacy;
}

/** A portion that the device has kept. */
export interface KeptPortion {
  readonly transfer: string;
  /** The plan that it travelled under. */
  readonly plan: unknown;
  /** The classes that the device asked for help with. */
  readonly classes: readonly number[];
  readonly payload: Uint8Array;
}

/**
 * The settings by which one device helps another with `classes`. Throws CodedError `portion.unsupported` where they
 * cannot under `plan`, or `portion.unknown_class`.
 */
export function termsOf({ help, codec, privacy }: DevicePlan, model: ModelSpec, classes: readonly number[]): Terms {
  if (help === null || help.portion === "learner") {
    throw unsupported("under this plan devices give each other no part of their models");
  }
  checkClasses(classes, classesOf(model));
  return { model, classes, portion: help.portion, share: help.share, codec, privacy };
}

/** The tensors of a portion. Throws CodedError `portion.unsupported`. */
export const portionSpecs = ({ portion, model, classes, share }: Terms): TensorSpec[] =>
  portion === "head" ? rowSpecs(model, classes) : unitSpecs(model, classes, share);

/**
 * What the helper with `parameters` sends; the same seed and secret give the same bytes. Throws CodedError
 * `portion.unsupported` or `update.not_finite`.
 */
export function encodePortion(
  terms: Terms,
  parameters: Tensors,
  { seed, secret }: { seed: number; secret: bigint },
): Uint8Array {
  const { portion, model, classes, share, codec, privacy } = terms;
  const tensors =
    portion === "head" ? partitionRows(parameters, model, classes) : partitionUnits(parameters, model, classes, share);
  return codec.encode(privacy.protect(tensors, secret), seed).payload;
}

/**
 * The tensors of a portion, which must be exactly those of `terms`. Throws CodedError `portion.unsupported`,
 * `update.malformed`, `update.wrong_codec`, `update.wrong_shape` or `update.not_finite`.
 */
export function decodePortion(terms: Terms, payload: Uint8Array): Tensors {
  const { codec } = terms;
  if (codec.decode === undefined) throw unsupported("what devices send each other would be too coarse");
  return codec.decode(payload, portionSpecs(terms));
}

/** The target's parameters with the portion in them; `known` are the classes that the target has seen. */
export function mergePortion(
  { portion, model, classes }: Terms,
  parameters: Tensors,
  tensors: Tensors,
  known: readonly number[],
): Tensors {
  const merge = portion === "head" ? mergeRows : mergeUnits;
  return merge(parameters, model, tensors, classes, known);
}

/**
 * `received` with `portions`, oldest first; `known` are the classes that the device has samples of. A portion that does
 * not fit the model any more is left out.
 */
export function withPortions(
  received: Tensors,
  model: ModelSpec,
  portions: readonly KeptPortion[],
  known: readonly number[],
): Tensors {
  let parameters = received;
  for (const { plan, classes, payload } of portions) {
    try {
      const terms = termsOf(parseDevicePlan(plan), model, classes);
      parameters = mergePortion(terms, parameters, decodePortion(terms, payload), known);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
    }
  }
  return parameters;
}
