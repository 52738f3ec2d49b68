/** The platform's keys as a device pins them, and how another takes the place of the one it signs with. */
import * as v from "valibot";
import { isSignedBy, readSigned } from "./bundle";
import { fromBase64 } from "./bytes";
import { Bytes, type SignedManifest } from "./messages";

const NextKey = v.object({ key: Bytes, former_until: v.pipe(v.number(), v.minValue(0)) });

/** What the device trusts; keys in base64. */
export interface PlatformKeys {
  readonly current: string;
  /** Those that others have replaced, in that order, and until when (Unix time in seconds) what they sign is taken. */
  readonly former: readonly { readonly key: string; readonly until: number }[];
}

/** Those that something received at `at`, in seconds of Unix time, may be signed with. */
export const trusted = (keys: PlatformKeys, at: number): Uint8Array[] =>
  [keys.current, ...keys.former.filter(({ until }) => at < until).map(({ key }) => key)].map(fromBase64);

/** Those that something which was received and verified before may be signed with. */
export const pinned = (keys: PlatformKeys): Uint8Array[] =>
  [keys.current, ...keys.former.map(({ key }) => key)].map(fromBase64);

/**
 * What is trusted after `statements`, each signed with the key that it replaces, the oldest first; one that was followed
 * before changes nothing. Throws CodedError `bundle.*` where a statement is not signed with the current key.
 */
export function followed(keys: PlatformKeys, statements: readonly SignedManifest[]): PlatformKeys {
  let found = keys;
  for (const signed of statements) {
    if (found.former.some(({ key }) => isSignedBy(signed, fromBase64(key)))) continue;
    const { key, former_until } = readSigned(signed, NextKey, fromBase64(found.current));
    found = { current: key, former: [...found.former, { key: found.current, until: former_until }] };
  }
  return found;
}
