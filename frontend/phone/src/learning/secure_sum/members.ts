/** The list of those who take part in a secure sum: a mirror of `coterie_learning.secure_sum.members`. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { byBytes, joined, toBase64, utf8 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import { type Member, MOST_MEMBERS, memberArray } from "../../wire/secure_sum";
import { isKey } from "./masks";

const KEYS = "coterie secure sum keys 1\n";
const LIST = "coterie secure sum list 1\n";

/** The public half of what a device draws anew for each sum. */
export type SessionKeys = Pick<Member, "mask" | "channel" | "commitment">;

/** Everybody, in the order of the list, which is that of their mask keys. */
export interface MemberList {
  readonly session: string;
  readonly members: readonly Member[];
  /** Of the log of identities. */
  readonly logHead: Uint8Array;
  /** SHA-256 of all of it: two views of the list share no mask and open no box. */
  readonly digest: Uint8Array;
}

/** The entry of `device` for the sum `session`; `identity` is the secret half of its key. */
export function signedMember(session: string, device: string, identity: Uint8Array, keys: SessionKeys): Member {
  const { mask, channel, commitment } = keys;
  const signature = ed25519.sign(signed(session, device, keys), identity);
  return { device, identity: ed25519.getPublicKey(identity), mask, channel, commitment, signature };
}

/** Throws CodedError `secure_sum.wrong_key` where a key is of no use, or `secure_sum.wrong_signature`. */
export function checkMember(session: string, member: Member): void {
  const { device, identity, mask, channel, signature } = member;
  if (!isKey(mask) || !isKey(channel)) {
    throw new CodedError("secure_sum.wrong_key", `nobody can agree on a secret with the keys of device ${device}`);
  }
  if (!isSigned(signature, signed(session, device, member), identity)) {
    const detail = `the keys of device ${device} are not signed by its identity`;
    throw new CodedError("secure_sum.wrong_signature", detail);
  }
}

/**
 * The list of `members` in its order, whose identities are in the log with that head. Throws CodedError
 * `secure_sum.wrong_list` where a device, an identity or a key is in it twice, or there are too many, and what
 * `checkMember` throws.
 */
export function memberList(session: string, members: readonly Member[], logHead: Uint8Array): MemberList {
  if (members.length > MOST_MEMBERS) throw wrongList(`${members.length} members, of ${MOST_MEMBERS} at most`);
  const ordered = [...members].sort((a, b) => byBytes(a.mask, b.mask));
  for (const field of ["device", "identity", "mask", "channel"] as const) {
    if (new Set(ordered.map((member) => `${member[field]}`)).size < ordered.length) {
      throw wrongList(`two members have the same ${field}`);
    }
  }
  for (const member of ordered) checkMember(session, member);
  const content = JSON.stringify([session, toBase64(logHead), ordered.map(memberArray)]);
  return { session, members: ordered, logHead, digest: sha256(utf8(LIST + content)) };
}

/** Where `device` is in the list. Throws CodedError `secure_sum.wrong_list` where it is not. */
export function placeOf({ members }: MemberList, device: string): number {
  const place = members.findIndex((member) => member.device === device);
  if (place < 0) throw wrongList(`device ${device} is not in the list`);
  return place;
}

export const wrongList = (detail: string): CodedError => new CodedError("secure_sum.wrong_list", detail);

const signed = (session: string, device: string, { mask, channel, commitment }: SessionKeys): Uint8Array =>
  joined([utf8(KEYS), utf8(JSON.stringify([session, device, ...[mask, channel, commitment].map(toBase64)]))]);

function isSigned(signature: Uint8Array, content: Uint8Array, identity: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, content, identity, { zip215: false });
  } catch {
    return false; // no point of the curve
  }
}
