/** The tensors of a codec's payload: what `coterie_learning.codec.Codec.open` checks before anything is decoded. */
import type { TensorSpec } from "../../wire/bundle";
import { CodedError } from "../../wire/errors";
import { type AnyTensor, decodeTensors, readTensors } from "../../wire/tensors";

const CODES: Readonly<Record<string, string>> = {
  "tensors.malformed": "update.malformed",
  "tensors.wrong_shape": "update.wrong_shape",
  "tensors.not_finite": "update.not_finite",
};

/**
 * The tensors `expected` of a payload that says of itself what `metadata` says; where lengths follow from no shape, they
 * are told by those that it states. Throws CodedError `update.malformed`,
 * `update.wrong_codec`, `update.wrong_shape` or `update.not_finite`.
 */
export function readPayload(
  payload: Uint8Array,
  metadata: ReadonlyMap<string, string>,
  expected: readonly TensorSpec[] | ((stated: ReadonlyMap<string, AnyTensor>) => readonly TensorSpec[]),
): ReadonlyMap<string, AnyTensor> {
  try {
    const { metadata: found, tensors } = readTensors(payload);
    const [said, wanted] = [found, metadata].map((one) => JSON.stringify([...one]));
    if (said !== wanted) throw new CodedError("update.wrong_codec", `the payload says ${said}, expected ${wanted}`);
    return decodeTensors(payload, typeof expected === "function" ? expected(tensors) : expected);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    throw new CodedError(CODES[error.code] ?? error.code, error.message);
  }
}
