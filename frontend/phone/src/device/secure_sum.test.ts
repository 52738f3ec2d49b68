import type * as v from "valibot";
import { expect, test } from "vitest";
import { EMPTY, nextHead } from "../learning/secure_sum/identities";
import type { PartyState } from "../learning/secure_sum/party";
import type { Vector } from "../learning/secure_sum/vector";
import { fromBase64, sha256Hex, toBase64 } from "../wire/bytes";
import type { CodedError } from "../wire/errors";
import { checked } from "../wire/messages";
import type { LogEntry, OfferMasked } from "../wire/secure_sum";
import { Unreachable } from "./failure";
import type { Link } from "./link";
import { type Part, SecureSum } from "./secure_sum";
import { Situation } from "./situation";
import type { Store, SumState } from "./store";

type Fields = Record<string, unknown>;
const MASKING: Part["masking"] = {
  terms: { fewest: 3, corrupted: 0, dropped: 0.25, adversary: "curious" },
  bits: 16,
  norm: 1,
  fullSamples: null,
  noiseMultiplier: null,
};

/** What `Store` keeps of sums, in memory: IndexedDB is the browser's. */
class Kept {
  held: SumState | null = null;
  vector: Uint8Array | null = null;
  log: (LogEntry & { head: Uint8Array })[] = [];
  private readonly secret = crypto.getRandomValues(new Uint8Array(32));

  async get(): Promise<Uint8Array | null> {
    return this.vector;
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
    this.vector = vector;
    return offer;
  }

  async logLength(): Promise<number> {
    return this.log.length;
  }

  async logHead(length: number): Promise<Uint8Array | null> {
    return this.log[length - 1]?.head ?? null;
  }

  async appendLog(length: number, entries: Kept["log"]): Promise<void> {
    this.log = [...this.log.slice(0, length), ...entries];
  }

  async logged(devices: readonly string[], length: number): Promise<Map<string, Uint8Array>> {
    const known = this.log.slice(0, length).filter(({ device }) => devices.includes(device));
    return new Map(known.map(({ device, identity }) => [device, identity]));
  }
}

/** The platform of one sum of three, in memory. */
class Platform {
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

function sumOf(device: string, platform: Platform, kept: Kept, vectors: number[] = []): SecureSum {
  const link = {
    call: async (name: string, fields: Fields, reply: v.GenericSchema) =>
      checked(reply, platform.answer(name, device, fields), "wire.malformed", name),
    upload: async (_what: string, _assignment: string, _offset: number, chunk: Uint8Array) =>
      platform.upload(device, chunk),
  };
  return new SecureSum({
    assignment: "a",
    device,
    masking: MASKING,
    vector: async (members): Promise<Vector> => {
      vectors.push(members);
      return { bits: 16, numbers: Uint16Array.of(1, 2, 3, 4), tail: BigUint64Array.of(1n) };
    },
    link: link as unknown as Link,
    store: kept as unknown as Store,
    situation: new Situation(),
    isOffline: () => false,
    chunkBytes: 1 << 20,
  });
}

const NAMES = ["one", "two", "three"];

async function code(does: Promise<unknown>): Promise<string> {
  try {
    await does;
  } catch (error) {
    return (error as CodedError).code;
  }
  return "no error";
}

test("three phones are counted, and one that was killed sends the same vector again", async () => {
  const [platform, stores, vectors] = [new Platform(), NAMES.map(() => new Kept()), [] as number[]];
  platform.silentAfter = 2;
  const run = (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled(NAMES.map((name, at) => sumOf(name, platform, stores[at] as Kept, vectors).run()));
  const first = await run();
  expect(first.filter(({ status }) => status === "rejected")).toHaveLength(1);
  const [sent] = [...platform.uploads.values()].slice(2);
  const killed = [...platform.uploads.keys()][2] as string;
  platform.uploads.delete(killed);
  platform.silentAfter = Number.POSITIVE_INFINITY;
  const again = await sumOf(killed, platform, stores[NAMES.indexOf(killed)] as Kept, vectors).run();
  expect(again).toMatchObject({ to_do: "counted" });
  expect(platform.uploads.get(killed)).toEqual(sent);
  expect(vectors).toEqual([3, 3, 3]); // once each
  expect([...platform.revealed.values()].map((shares) => shares.length)).toEqual([2, 2, 2]);
});

test.each([
  ["a log with another head", { log_head: toBase64(new Uint8Array(32)) }, "secure_sum.other_log"],
  ["a log that is shorter than what was read", { length: 0 }, "secure_sum.other_log"],
  ["a log with a device twice", { entries: twice() }, "secure_sum.other_log"],
  ["a list of fewer devices than the plan promises", { members: [] }, "secure_sum.too_few"],
])(
  "%s is refused, and nothing follows",
  async (_, changed, expected) => {
    const platform = new Platform();
    platform.forge = (news) => {
      const known = Object.keys(changed).filter((name) => name in news);
      const members = Array.isArray(news.members) ? { members: news.members.slice(0, 2) } : {};
      return known.length === 0 ? news : { ...news, ...changed, ...("members" in changed ? members : {}) };
    };
    const ended = await Promise.all(NAMES.map((name) => code(sumOf(name, platform, new Kept()).run())));
    expect(ended.filter((one) => one === expected).length).toBeGreaterThan(0);
    expect(platform.uploads.size).toBe(0);
  },
  20_000,
);

test("a member that the log of identities does not have is refused", async () => {
  const platform = new Platform();
  const stores = NAMES.map(() => new Kept());
  let isRead = false;
  platform.forge = (news) => {
    if (!isRead && news.to_do === "share") {
      isRead = true;
      for (const store of stores) {
        store.log = store.log.map((one) => ({ ...one, device: `not ${one.device}` }));
      }
    }
    return news;
  };
  const ended = await Promise.race(NAMES.map((name, at) => code(sumOf(name, platform, stores[at] as Kept).run())));
  expect(ended).toBe("secure_sum.unknown_identity");
  expect(platform.uploads.size).toBe(0);
});

function twice(): [string, string][] {
  const key = toBase64(new Uint8Array(32));
  return [
    ["one", key],
    ["one", key],
  ];
}
