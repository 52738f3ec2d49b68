/** An algorithm's state between rounds, one blob with its own checksum: `coterie_learning.device_state`. */
import { sha256 } from "@noble/hashes/sha2.js";
import { joined, sameBytes } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import { encodeTensors, readTensors, type Tensor, type Tensors } from "../wire/tensors";

const DIGEST_BYTES = 32;

/** The tensors of a state as a blob; equal states give equal bytes. */
export function encodeState(tensors: Tensors): Uint8Array {
  const content = encodeTensors(tensors);
  return joined([sha256(content), content]);
}

/** What `encodeState` wrote. Throws CodedError `state.damaged`. */
export function decodeState(blob: Uint8Array): Tensors {
  const content = blob.subarray(DIGEST_BYTES);
  if (!sameBytes(sha256(content), blob.subarray(0, DIGEST_BYTES))) {
    throw new CodedError("state.damaged", `a state of ${blob.length} bytes is not what was written`);
  }
  const floats = [...readTensors(content).tensors].filter((one): one is [string, Tensor] => one[1].dtype === "float32");
  return new Map(floats);
}
