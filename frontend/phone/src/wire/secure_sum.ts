/** What a device and the platform tell each other in a secure sum: a mirror of `coterie_wire.secure_sum`. */
import * as v from "valibot";
import { fromBase64, toBase64 } from "./bytes";
import { Count, Reason } from "./messages";

/** Of a list that fits into one message. */
export const MOST_MEMBERS = 2500;

const Identifier = v.pipe(v.string(), v.maxLength(64));
const Seconds = v.pipe(v.number(), v.minValue(0), v.maxValue(1e9));
const bytesOf = (least: number, most: number) =>
  v.pipe(
    v.string(),
    v.base64(),
    v.transform(fromBase64),
    v.check(({ length }) => length >= least && length <= most, `not ${least} to ${most} bytes`),
  );
const Key = bytesOf(32, 32);
const Place = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MOST_MEMBERS - 1));
const many = <S extends v.GenericSchema>(item: S) => v.pipe(v.array(item), v.maxLength(MOST_MEMBERS));

/** One device's entry in the list of those who take part. */
export interface Member {
  readonly device: string;
  /** Ed25519, of the device's own. */
  readonly identity: Uint8Array;
  /** X25519, of the masks that it shares with others. */
  readonly mask: Uint8Array;
  /** X25519, of the boxes in which shares travel. */
  readonly channel: Uint8Array;
  /** BLAKE2b of the seed of its own mask, so that a wrong share of it is told from a right one. */
  readonly commitment: Uint8Array;
  /** By `identity`, of the keys for this sum. */
  readonly signature: Uint8Array;
}

const Member = v.pipe(
  v.tuple([Identifier, Key, Key, Key, Key, bytesOf(64, 64)]),
  v.transform(
    ([device, identity, mask, channel, commitment, signature]): Member => ({
      device,
      identity,
      mask,
      channel,
      commitment,
      signature,
    }),
  ),
);

/** The shares of one member for another, sealed; members are named by their places in the list. */
export interface Box {
  readonly sender: number;
  readonly to: number;
  readonly content: Uint8Array;
}

const Box = v.pipe(
  v.tuple([Place, Place, bytesOf(82, 82)]),
  v.transform(([sender, to, content]): Box => ({ sender, to, content })),
);

/** A share of one of the secrets of member `owner`. */
export interface Share {
  readonly owner: number;
  readonly of: "own_mask" | "pair_masks";
  readonly share: Uint8Array;
}

export interface LogEntry {
  readonly device: string;
  readonly identity: Uint8Array;
}

/** The entries of the log of identities that follow, in their order. */
export const LogEntries = v.object({
  entries: many(
    v.pipe(
      v.tuple([Identifier, Key]),
      v.transform(([device, identity]): LogEntry => ({ device, identity })),
    ),
  ),
  length: Count,
});

/** How a secure sum stands for the device that asks. */
export const SumNews = v.object({
  session: Identifier,
  to_do: v.picklist(["join", "share", "mask", "reveal", "wait", "counted", "over"]),
  again_s: v.optional(Seconds, 1),
  reason: v.optional(v.nullable(Reason), null),
  members: v.optional(many(Member), []),
  log_length: v.optional(Count, 0),
  log_head: v.optional(bytesOf(0, 32), ""),
  boxes: v.optional(many(Box), []),
  survivors: v.optional(many(Place), []),
});
export type SumNews = v.InferOutput<typeof SumNews>;

/** Of a masked vector. */
export interface OfferMasked {
  assignment: string;
  sha256: string;
  size_bytes: number;
}

/** As it travels. */
export const memberArray = ({ device, identity, mask, channel, commitment, signature }: Member): string[] => [
  device,
  ...[identity, mask, channel, commitment, signature].map(toBase64),
];
export const boxArray = ({ sender, to, content }: Box): [number, number, string] => [sender, to, toBase64(content)];
export const shareArray = ({ owner, of, share }: Share): [number, string, string] => [owner, of, toBase64(share)];
