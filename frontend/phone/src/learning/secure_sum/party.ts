/**
 * One device's part in a secure sum (Bonawitz et al. 2017, doi 10.1145/3133956.3133982, Figure 4), without I/O: a mirror
 * of `coterie_learning.secure_sum.party`. Each step gives the next state, which is stored before anything that follows
 * from it is sent. Asked the same again it gives the same; asked anything else it refuses.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { joined, sameBytes, utf8 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import type { Box, Member, Share } from "../../wire/secure_sum";
import { numberOf } from "../noise";
import type { Terms } from "../privacy/masking";
import { graphOf, neighboursOf } from "./graph";
import { commitment, pairSeed, publicKey, seal, unseal } from "./masks";
import { type MemberList, placeOf, type SessionKeys, signedMember, wrongList } from "./members";
import { SHARE_BYTES, split } from "./shamir";
import { masked, type Vector } from "./vector";

/** What the device remembers of one sum; most of it is secret. */
export interface PartyState {
  readonly session: string;
  readonly device: string;
  readonly maskKey: Uint8Array;
  readonly channelKey: Uint8Array;
  /** Of its own mask. */
  readonly seed: Uint8Array;
  /** The public key that its own entry in the list is signed by. */
  readonly identity: Uint8Array;
  /** The list that it has accepted. */
  readonly found: MemberList | null;
  /** Its shares for its neighbours. */
  readonly sent: readonly Box[];
  /** Their boxes for it; of those whom it shares a mask with in its vector. */
  readonly received: readonly Box[];
  /** Digest of the survivors for whom it has revealed shares. */
  readonly answered: Uint8Array | null;
}

/** Draw what is secret in the sum `session`; `identity` is the public key of the device. */
export function join(session: string, device: string, identity: Uint8Array): PartyState {
  const drawn = (): Uint8Array => crypto.getRandomValues(new Uint8Array(32));
  const secrets = { maskKey: drawn(), channelKey: drawn(), seed: drawn() };
  return { session, device, ...secrets, identity, found: null, sent: [], received: [], answered: null };
}

/** The device's entry for the list, the same each time; `identity` is the secret half of its key. */
export const entry = (state: PartyState, identity: Uint8Array): Member =>
  signedMember(state.session, state.device, identity, sessionKeys(state));

/**
 * Accept the list, and seal shares for the neighbours: `sent`. Throws CodedError `secure_sum.wrong_list` where the
 * device's keys are not in it, or it has accepted another one; `secure_sum.too_few`, or `secure_sum.wrong_key`.
 */
export function share(state: PartyState, found: MemberList, terms: Terms): PartyState {
  if (state.found !== null) {
    if (!sameBytes(state.found.digest, found.digest)) throw wrongList("another list of members was accepted before");
    return state;
  }
  const place = ownPlace(state, found);
  const { neighbours, threshold } = neighbourhood(found, place, terms);
  const points = neighbours.map((other) => other + 1);
  const [ofSeed, ofKey] = [split(state.seed, threshold, points), split(state.maskKey, threshold, points)];
  const sent = neighbours.map((other, at): Box => {
    const shares = joined([ofSeed[at] as Uint8Array, ofKey[at] as Uint8Array]);
    const { channel } = found.members[other] as Member;
    return { sender: place, to: other, content: seal(shares, state.channelKey, channel, found.digest) };
  });
  return { ...state, found, sent };
}

/**
 * `vector` under the own mask and those shared with the senders of `boxes`, and the next state. It is computed once:
 * under the same masks a second vector would tell how it differs from the first. A box that does not open keeps nobody
 * from the sum, and does not count among those who have surely accepted the same list. Throws CodedError
 * `secure_sum.out_of_order`, `secure_sum.wrong_box`, or `secure_sum.too_few_shared` where too few neighbours have.
 */
export function mask(
  state: PartyState,
  boxes: readonly Box[],
  vector: Vector,
  terms: Terms,
): { state: PartyState; vector: Vector } {
  const { found } = state;
  if (found === null || state.received.length > 0) {
    throw outOfOrder("vectors are masked once, after shares were sent");
  }
  const place = ownPlace(state, found);
  const { neighbours, threshold } = neighbourhood(found, place, terms);
  const senders = boxes.map(({ sender }) => sender);
  if (new Set(senders).size < senders.length || !senders.every((sender) => neighbours.includes(sender))) {
    throw new CodedError("secure_sum.wrong_box", "boxes came twice or from others than neighbours");
  }
  const shared = opened(state, found, boxes).size;
  if (shared < threshold) {
    const detail = `${shared} of ${neighbours.length} neighbours have shared, and ${threshold} are needed`;
    throw new CodedError("secure_sum.too_few_shared", detail);
  }
  const seedOf = (other: number): Uint8Array =>
    pairSeed(state.maskKey, (found.members[other] as Member).mask, found.digest);
  const [after, before] = [senders.filter((other) => other > place), senders.filter((other) => other < place)];
  return {
    state: { ...state, received: boxes },
    vector: masked(vector, [state.seed, ...after.map(seedOf)], before.map(seedOf)),
  };
}

/**
 * Shares to unmask the sum of the vectors of `survivors`, by their places in the list, and the next state. Throws
 * CodedError `secure_sum.out_of_order`, `secure_sum.wrong_survivors` where it has answered for others before or its own
 * vector is not among them, or `secure_sum.too_few`.
 */
export function reveal(
  state: PartyState,
  survivors: readonly number[],
  terms: Terms,
): { state: PartyState; shares: Share[] } {
  const { found } = state;
  if (found === null || state.received.length === 0) {
    throw outOfOrder("shares are revealed after the vector was masked");
  }
  const [place, alive] = [ownPlace(state, found), new Set(survivors)];
  const isAscending = survivors.every((one, at) => at === 0 || one > (survivors[at - 1] as number));
  if (!isAscending || survivors.some((one) => one >= found.members.length) || !alive.has(place)) {
    throw wrongSurvivors("the survivors are no part of the list with this device in it");
  }
  if (alive.size < terms.fewest) {
    throw tooFew(`${alive.size} vectors would be summed, and the plan promises at least ${terms.fewest}`);
  }
  const { threshold } = neighbourhood(found, place, terms);
  const shares = opened(state, found, state.received);
  if ([...shares.keys()].filter((sender) => alive.has(sender)).length < threshold) {
    throw tooFew(`fewer than ${threshold} of this device's neighbours have delivered`);
  }
  const answered = sha256(joined([found.digest, utf8(JSON.stringify(survivors))]));
  if (state.answered !== null && !sameBytes(state.answered, answered)) {
    throw wrongSurvivors("shares were revealed for other survivors before");
  }
  return {
    state: { ...state, answered },
    shares: [...shares].map(([owner, both]): Share => {
      const hasDelivered = alive.has(owner);
      const one = hasDelivered ? both.subarray(0, SHARE_BYTES) : both.subarray(SHARE_BYTES);
      return { owner, of: hasDelivered ? "own_mask" : "pair_masks", share: one };
    }),
  };
}

/** The two shares in each box that opens, by its sender. */
function opened(state: PartyState, found: MemberList, boxes: readonly Box[]): Map<number, Uint8Array> {
  const shares = new Map<number, Uint8Array>();
  for (const { sender, content } of boxes) {
    try {
      const { channel } = found.members[sender] as Member;
      shares.set(sender, unseal(content, state.channelKey, channel, found.digest));
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
    }
  }
  return shares;
}

function ownPlace(state: PartyState, found: MemberList): number {
  const place = placeOf(found, state.device);
  const member = found.members[place] as Member;
  const own: Pick<Member, "identity" | keyof SessionKeys> = { identity: state.identity, ...sessionKeys(state) };
  const isOwn = (["identity", "mask", "channel", "commitment"] as const).every((key) =>
    sameBytes(own[key], member[key]),
  );
  if (found.session !== state.session || !isOwn) throw wrongList("the list has other keys of this device than it sent");
  return place;
}

const sessionKeys = ({ maskKey, channelKey, seed }: PartyState): SessionKeys => ({
  mask: publicKey(maskKey),
  channel: publicKey(channelKey),
  commitment: commitment(seed),
});

function neighbourhood(found: MemberList, place: number, terms: Terms): { neighbours: number[]; threshold: number } {
  const members = found.members.length;
  const { neighbours, threshold } = graphOf(terms, members);
  return { neighbours: neighboursOf(place, members, neighbours, numberOf(found.digest)), threshold };
}

const outOfOrder = (detail: string): CodedError => new CodedError("secure_sum.out_of_order", detail);
const wrongSurvivors = (detail: string): CodedError => new CodedError("secure_sum.wrong_survivors", detail);
const tooFew = (detail: string): CodedError => new CodedError("secure_sum.too_few", detail);
