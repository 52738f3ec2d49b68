/**
 * One device's part in a secure sum, over the network: it asks what to do, does it, and asks again until it is over. A
 * mirror of `coterie_agent.secure_sum`: what a step gives is stored before anything of it is sent, so that whenever the
 * tab is killed the device sends the same bytes again, above all the masked vector, which is computed once.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { type Contents, partsOf, vectorOf } from "../learning/contribution";
import { drawnKey } from "../learning/noise";
import type { Terms } from "../learning/privacy/masking";
import { checkLogged, EMPTY, nextHead } from "../learning/secure_sum/identities";
import { type MemberList, memberList } from "../learning/secure_sum/members";
import { entry, join, mask, type PartyState, reveal, share } from "../learning/secure_sum/party";
import { encodeVector, type Vector } from "../learning/secure_sum/vector";
import { sameBytes, sha256Hex, toBase64 } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { Reason } from "../wire/messages";
import { boxArray, LogEntries, memberArray, SumNews, shareArray } from "../wire/secure_sum";
import type { Tensors } from "../wire/tensors";
import { Unreachable } from "./failure";
import type { Spooled, SumState } from "./kept";
import { deliver, type Link } from "./link";
import { nowS, type Situation } from "./situation";
import type { Store, SumShelf } from "./store";

/** Least seconds between two questions, whatever the platform asks for. */
const SHORTEST_S = 0.1;

export interface Part {
  readonly assignment: string;
  readonly device: string;
  /** What the plan, or the question, promises; the device checks each of it. */
  readonly terms: Terms;
  /** What the device adds to a sum of so many members. */
  readonly vector: (members: number) => Promise<Vector>;
  readonly link: Link;
  readonly store: Pick<Store, "signing" | "logLength" | "logHead" | "logEnd" | "appendLog" | "logged">;
  /** Of sums of this kind. */
  readonly shelf: SumShelf;
  readonly situation: Situation;
  /** What the sum waits for; null: for nothing. */
  readonly tellWait: (reason: Reason | null) => void;
  readonly isOffline: () => boolean;
  readonly chunkBytes: number;
}

/** What the spooled update adds to a sum, before any mask. Throws CodedError `update.*` or `secure_sum.*`. */
export function contributionOf(
  contents: Contents,
  { offer, payload }: Spooled,
  version: Tensors,
  seed: number,
): Vector {
  const { samples, loss_before: lossBefore, loss_after: lossAfter, accuracy_before: accuracyBefore } = offer;
  const measured = { samples, lossBefore, lossAfter, accuracyBefore };
  return vectorOf(contents, partsOf(payload, contents.model), measured, version, { seed, key: drawnKey() });
}

export class SecureSum {
  constructor(private readonly part: Part) {}

  /**
   * How the sum ended for the device: `counted` or `over`; null: interrupted. Throws Unreachable or Refused, CodedError
   * `agent.sum_damaged` or `secure_sum.*`, and what `vector` throws.
   */
  async run(): Promise<SumNews | null> {
    const { tellWait, isOffline } = this.part;
    try {
      let [news, done]: [SumNews, string | null] = [await this.ask(), null];
      while (!isOffline()) {
        if (news.to_do === "counted" || news.to_do === "over") return news;
        if (news.to_do === "wait") {
          tellWait(news.reason);
          await this.wait(Math.max(news.again_s, SHORTEST_S));
          [news, done] = [await this.ask(), null];
          continue;
        }
        if (news.to_do === done) throw new Unreachable(`the platform asks the device to ${done} once more, at once`);
        tellWait(null);
        const [toDo, answer]: [string, SumNews | null] = [news.to_do, await this.perform(news)];
        if (answer === null) return null;
        [news, done] = [answer, toDo];
      }
      return null;
    } finally {
      tellWait(null);
    }
  }

  private ask(): Promise<SumNews> {
    return this.call("ask-sum", {});
  }

  private call(name: string, fields: object): Promise<SumNews> {
    return this.part.link.call(name, { assignment: this.part.assignment, ...fields }, SumNews);
  }

  /** Until `longestS` seconds have passed, or the device may not use the network. */
  private async wait(longestS: number): Promise<void> {
    const { situation, isOffline } = this.part;
    const until = nowS() + longestS;
    for (let left = longestS; left > 0 && !isOffline(); left = until - nowS()) {
      await situation.wait(situation.now.edition, left);
    }
  }

  /** What the platform says to the answer; null: interrupted. */
  private async perform(news: SumNews): Promise<SumNews | null> {
    const { assignment, terms, store, shelf } = this.part;
    if (news.to_do === "join") {
      const signing = await store.signing();
      await this.readLog(signing);
      return await this.call("join-sum", {
        member: memberArray(entry(await this.joined(news.session, signing), signing)),
      });
    }
    const held = await this.held(news);
    if (news.to_do === "share") {
      const state = share(held.state, await this.members(news), terms);
      await shelf.keepSum(assignment, state);
      return await this.call("share-secrets", { boxes: state.sent.map(boxArray) });
    }
    if (news.to_do === "mask") return await this.mask(news, held);
    const { state, shares } = reveal(held.state, news.survivors, terms);
    await shelf.keepSum(assignment, state);
    return await this.call("reveal-shares", { shares: shares.map(shareArray) });
  }

  /**
   * The list, whose members all have their identities in the log as this device has read it. Throws CodedError
   * `secure_sum.other_log`, `secure_sum.unknown_identity` or what `memberList` throws.
   */
  private async members({ session, members, log_length, log_head }: SumNews): Promise<MemberList> {
    const { store } = this.part;
    if ((await store.logLength()) < log_length) await this.readLog(await store.signing());
    const head = await store.logHead(log_length);
    if (head === null || !sameBytes(head, log_head)) {
      throw otherLog(`the platform's log of ${log_length} identities is another than this device has read`);
    }
    const devices = members.map(({ device }) => device);
    checkLogged(members, await store.logged(devices, log_length));
    return memberList(session, members, log_head);
  }

  /**
   * Read the entries that the device lacks; its own is among them then. Throws CodedError `secure_sum.other_log` where
   * the log has changed, has become shorter or has a device twice, and `agent.log_damaged`.
   */
  private async readLog(signing: Uint8Array): Promise<void> {
    const { link, store } = this.part;
    const identity = toBase64(ed25519.getPublicKey(signing));
    for (;;) {
      const [known, end] = [await store.logLength(), await store.logEnd()];
      const { entries, length } = await link.call("read-log", { identity, known }, LogEntries);
      let head = (await store.logHead(known)) ?? EMPTY;
      const headed = entries.map((one, at) => {
        head = nextHead(head, one);
        if (known + at + 1 === end.length && !sameBytes(head, end.head)) {
          throw otherLog(`the log of ${end.length} identities is another than before`);
        }
        return { ...one, head };
      });
      if (length < Math.max(end.length, known + entries.length) || (entries.length === 0 && length > known)) {
        throw otherLog(`the log of identities has ${length} entries, of ${end.length}`);
      }
      const devices = entries.map(({ device }) => device);
      if (new Set(devices).size < devices.length || (await store.logged(devices, known)).size > 0) {
        throw otherLog("the log of identities has a device twice");
      }
      await store.appendLog(known, headed);
      if ((await store.logLength()) >= length) return;
    }
  }

  /**
   * The state of the sum `session`, begun unless it has been. A sum that failed before this device had masked its vector
   * may be followed by another: nothing of it has left.
   */
  private async joined(session: string, signing: Uint8Array): Promise<PartyState> {
    const { assignment, device, shelf } = this.part;
    const held = await shelf.sum(assignment);
    if (held?.state.session === session) return held.state;
    if (held !== null && held.offer !== null) {
      throw outOfOrder("the device has masked its vector for another sum before");
    }
    const state = join(session, device, ed25519.getPublicKey(signing));
    await shelf.keepSum(assignment, state);
    return state;
  }

  /** Upload the masked vector, which is computed unless it has been; null: interrupted. */
  private async mask(news: SumNews, held: SumState): Promise<SumNews | null> {
    const { link, shelf, isOffline: stop, chunkBytes } = this.part;
    const offer = held.offer ?? (await this.masked(news, held.state));
    const vector = await shelf.vector();
    if (vector === null || sha256Hex(vector) !== offer.sha256) {
      const detail = "the masked vector was damaged on the disk, and is made only once";
      throw new CodedError("agent.sum_damaged", detail);
    }
    const outcome = await deliver(link, "masked-update", offer, vector, { chunkBytes, stop });
    return outcome === "stopped" ? null : await this.ask();
  }

  private async masked({ boxes }: SumNews, state: PartyState): Promise<NonNullable<SumState["offer"]>> {
    const { assignment, terms, shelf } = this.part;
    if (state.found === null) throw outOfOrder("vectors are masked after shares were sent");
    const { members, digest } = state.found;
    const masked = mask(state, boxes, await this.part.vector(members.length), terms);
    return await shelf.keepVector(assignment, masked.state, encodeVector(masked.vector, digest));
  }

  /** What is remembered of the sum that `news` is of. */
  private async held({ session, to_do }: SumNews): Promise<SumState> {
    const held = await this.part.shelf.sum(this.part.assignment);
    if (held?.state.session !== session) {
      throw outOfOrder(`the device is to ${to_do}, in a sum that it has not joined`);
    }
    return held as SumState;
  }
}

const otherLog = (detail: string): CodedError => new CodedError("secure_sum.other_log", detail);
const outOfOrder = (detail: string): CodedError => new CodedError("secure_sum.out_of_order", detail);
