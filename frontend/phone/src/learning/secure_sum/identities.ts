/** The log of identities, a hash chain: a mirror of `coterie_learning.secure_sum.identities`. */
import { sha256 } from "@noble/hashes/sha2.js";
import { joined, sameBytes, utf8 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import type { LogEntry, Member } from "../../wire/secure_sum";

/** The head of a log without entries. */
export const EMPTY = sha256(utf8("coterie identity log 1\n"));

/** The head after one more entry. */
export const nextHead = (head: Uint8Array, { device, identity }: LogEntry): Uint8Array =>
  sha256(joined([head, utf8(`${device}\n`), identity]));

/** Throws CodedError `secure_sum.unknown_identity` unless each signs with the key that is logged of its device. */
export function checkLogged(members: readonly Member[], keys: ReadonlyMap<string, Uint8Array>): void {
  for (const { device, identity } of members) {
    const logged = keys.get(device);
    if (logged === undefined || !sameBytes(logged, identity)) {
      const detail = `the identity of device ${device} is not in the log of identities`;
      throw new CodedError("secure_sum.unknown_identity", detail);
    }
  }
}
