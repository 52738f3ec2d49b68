/**
 * Seals of rows: flash memory loses bits, and a browser does not look. Each row is kept with a hash of itself and of its
 * place, as `coterie_agent.store.sealing` has it, and a row whose seal does not fit is not used.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { sameBytes, utf8 } from "../wire/bytes";

export type Sealed<T extends object> = T & { readonly seal: Uint8Array };
const SEAL_BYTES = 8;

/** The row to be kept at `place`. */
export function sealed<T extends object>(place: string, row: T): Sealed<T> {
  return { ...row, seal: sealOf(place, row) };
}

/** The row as it was written at `place`; null: it is another. */
export function opened<T extends object>(place: string, kept: Sealed<T>): T | null {
  const { seal, ...row } = kept;
  const isSound = seal instanceof Uint8Array && sameBytes(seal, sealOf(place, row));
  return isSound ? (row as unknown as T) : null;
}

/** Of texts and numbers as JSON, in which arrays of bytes and of numbers stand by kind and length, and of those arrays. */
function sealOf(place: string, row: object): Uint8Array {
  const arrays: Uint8Array[] = [];
  const text = JSON.stringify(row, (_, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (!ArrayBuffer.isView(value)) return value;
    arrays.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    return [value.constructor.name, value.byteLength];
  });
  const hash = sha256.create().update(utf8(`${place} ${text}`));
  for (const bytes of arrays) hash.update(bytes);
  return hash.digest().slice(0, SEAL_BYTES);
}
