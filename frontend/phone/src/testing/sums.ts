/** A secure sum of three phones, without a network: what each keeps, and the platform that they share. */

import { Unreachable } from "../device/failure";
import type { LogEnd, SumState } from "../device/kept";
import type { SumShelf } from "../device/store";
import { EMPTY, nextHead } from "../learning/secure_sum/identities";
import type { PartyState } from "../learning/secure_sum/party";
import { fromBase64, sha256Hex, toBase64 } from "../wire/bytes";
import type { LogEntry, OfferMasked } from "../wire/secure_sum";

export type Fields = Record<string, unknown>;

/** What `Store` keeps of sums, in memory: IndexedDB is the browser's. */
export class Kept implements SumShelf {
  held: SumState | null = null;
  masked: Uint8Array | null = null;
  log: (LogEntry & { head: Uint8Array })[] = [];
  end: LogEnd = { length: 0, head: EMPTY };
  private readonly secret = crypto.getRandomValues(new Uint8Array(32));

  async vector(): Promise<Uint8Array | null> {
    return this.masked;
  }

  async signing(): Promise<Uint8Array> {
    return this.secret;
  }

  async sum(): Promise<SumState | null> {
    return this.held;
  }

  async keepSum(assignment: string, state: PartyState): Promise<void> {
    this.held = { assignment, state, offer: this.held?.offer ?? null };
  }

  async keepVector(assignment: string, state: PartyState, vector: Uint8Array): Promise<OfferMasked> {
    const offer = { assignment, sha256: sha256Hex(vector), size_bytes: vector.length };
    this.held = { assignment, state, offer };
    this.masked = vector;
    return offer;
  }

  async logLength(): Promise<number> {
    return this.log.length;
  }

  async logEnd(): Promise<LogEnd> {
    return this.end;
  }

  async logHead(length: number): Promise<Uint8Array | null> {
    return this.log[length - 1]?.head ?? null;
  }

  async appendLog(length: number, entries: Kept["log"]): Promise<void> {
    this.log = [...this.log.slice(0, length), ...entries];
    const head = this.log.at(-1)?.head ?? EMPTY;
    if (this.log.length > this.end.length) this.end = { length: this.log.length, head };
  }

  async logged(devices: readonly string[], length: number): Promise<Map<string, Uint8Array>> {
    const known = this.log.slice(0, length).filter(({ device }) => devices.includes(device));
    return new Map(known.map(({ device, identity }) => [device, identity]));
  }
}

/** The platform of one sum of three, in memory. */
export class Platform {
  readonly log: [string, string][] = [];
  readonly members = new Map<string, unknown[]>();
  readonly boxes: [number, number, string][] = [];
  readonly shared = new Set<string>();
  readonly uploads = new Map<string, Uint8Array>();
  readonly revealed = new Map<string, unknown[]>();
  /** The latest news to a device is changed so before it is sent. */
  forge: (news: Fields) => Fields = (news) => news;
  /** After how many uploads the next answers do not come. */
  silentAfter = Number.POSITIVE_INFINITY;

  answer(name: string, device: string, fields: Fields): Fields {
    switch (name) {
      case "read-log": {
        if (!this.log.some(([known]) => known === device)) this.log.push([device, fields.identity as string]);
        return this.forge({ entries: this.log.slice(fields.known as number), length: this.log.length });
      }
      case "join-sum":
        this.members.set(device, fields.member as unknown[]);
        break;
      case "share-secrets":
        this.boxes.push(...(fields.boxes as Platform["boxes"]));
        this.shared.add(device);
        break;
      case "reveal-shares":
        this.revealed.set(device, fields.shares as unknown[]);
        break;
      case "offer-masked":
        return { offset: 0, accepted: this.uploads.has(device) };
    }
    return this.news(device);
  }

  upload(device: string, chunk: Uint8Array): Fields {
    this.uploads.set(device, chunk);
    if (this.uploads.size > this.silentAfter) throw new Unreachable("the platform does not answer");
    return { offset: chunk.length, accepted: true };
  }

  private news(device: string): Fields {
    const session = "session";
    const wait = { session, to_do: "wait", again_s: 0.1 };
    if (!this.members.has(device)) return { session, to_do: "join" };
    if (this.members.size < 3) return wait;
    const ordered = [...this.members].sort(([, a], [, b]) => (this.keyOf(a) < this.keyOf(b) ? -1 : 1));
    const place = ordered.findIndex(([name]) => name === device);
    if (!this.shared.has(device)) {
      let head: Uint8Array = EMPTY;
      for (const [name, key] of this.log) head = nextHead(head, { device: name, identity: fromBase64(key) });
      const members = ordered.map(([, member]) => member);
      return this.forge({ session, to_do: "share", members, log_length: this.log.length, log_head: toBase64(head) });
    }
    if (this.shared.size < 3) return wait;
    const boxes = this.boxes.filter(([, to]) => to === place);
    if (!this.uploads.has(device)) return { session, to_do: "mask", boxes };
    if (this.uploads.size < 3) return wait;
    if (!this.revealed.has(device)) return this.forge({ session, to_do: "reveal", survivors: [0, 1, 2] });
    return { session, to_do: "counted" };
  }

  private keyOf(member: unknown[]): string {
    return Buffer.from(fromBase64(member[2] as string)).toString("hex");
  }
}
