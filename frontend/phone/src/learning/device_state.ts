/** An algorithm's state between rounds, one blob with its own checksum: `coterie_learning.device_state`. */
import { sha256 } from "@noble/hashes/sha2.js";
import * as v from "valibot";
import { joined, sameBytes } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { checked, parsed } from "../wire/messages";
import { encodeTensors, readTensors, type Tensor, type Tensors } from "../wire/tensors";

const DIGEST_BYTES = 32;
const VALUES = "values";

export interface State {
  readonly tensors: Tensors;
  /** What JSON can hold. */
  readonly values: Readonly<Record<string, unknown>>;
}

export const NO_STATE: State = { tensors: new Map(), values: {} };

/** The state as a blob; equal states give equal bytes. */
export function encodeState({ tensors, values }: State): Uint8Array {
  const ordered = Object.fromEntries(Object.entries(values).sort());
  const metadata = Object.keys(ordered).length === 0 ? [] : [[VALUES, JSON.stringify(ordered)] as const];
  const content = encodeTensors(tensors, new Map(metadata));
  return joined([sha256(content), content]);
}

/** What `encodeState` wrote. Throws CodedError `state.damaged`. */
export function decodeState(blob: Uint8Array): State {
  const content = blob.subarray(DIGEST_BYTES);
  if (!sameBytes(sha256(content), blob.subarray(0, DIGEST_BYTES))) {
    throw new CodedError("state.damaged", `a state of ${blob.length} bytes is not what was written`);
  }
  const { tensors, metadata } = readTensors(content);
  const floats = [...tensors].filter((one): one is [string, Tensor] => one[1].dtype === "float32");
  const values = parsed(metadata.get(VALUES) ?? "{}", "state.damaged");
  const schema = v.record(v.string(), v.unknown());
  return { tensors: new Map(floats), values: checked(schema, values, "state.damaged", "state") };
}
