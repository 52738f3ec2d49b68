import type * as v from "valibot";
import { expect, test } from "vitest";
import type { Vector } from "../learning/secure_sum/vector";
import { code } from "../testing/failing";
import { type Fields, Kept, Platform } from "../testing/sums";
import { toBase64 } from "../wire/bytes";
import { checked } from "../wire/messages";
import { Unreachable } from "./failure";
import type { Link } from "./link";
import { type Part, SecureSum } from "./secure_sum";
import { Situation } from "./situation";

const TERMS: Part["terms"] = { fewest: 3, corrupted: 0, dropped: 0.25, adversary: "curious" };

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
    terms: TERMS,
    vector: async (members): Promise<Vector> => {
      vectors.push(members);
      return { bits: 16, numbers: Uint16Array.of(1, 2, 3, 4), tail: BigUint64Array.of(1n) };
    },
    link: link as unknown as Link,
    store: kept,
    shelf: kept,
    situation: new Situation(),
    tellWait: () => {},
    isOffline: () => false,
    chunkBytes: 1 << 20,
  });
}

const NAMES = ["one", "two", "three"];

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

test("a log that the disk has damaged is read again as it was, and not as another", async () => {
  const read = async (changed: boolean): Promise<string> => {
    const [platform, stores] = [new Platform(), NAMES.map(() => new Kept())];
    await Promise.all(NAMES.map((name, at) => sumOf(name, platform, stores[at] as Kept).run()));
    const [kept] = stores as [Kept];
    expect(kept.end).toEqual({ length: 3, head: kept.log[2]?.head });
    kept.log = kept.log.slice(0, 1);
    kept.held = null;
    if (changed) platform.log[1] = [platform.log[1]?.[0] as string, toBase64(new Uint8Array(32).fill(7))];
    platform.members.clear();
    const answer = platform.answer.bind(platform);
    platform.answer = (name, device, fields) => {
      if (name === "join-sum") throw new Unreachable("the log has been read");
      return answer(name, device, fields);
    };
    const ended = await code(sumOf("one", platform, kept).run());
    expect(kept.log.length).toBe(changed ? 1 : 3);
    return ended;
  };
  expect(await read(true)).toBe("secure_sum.other_log");
  expect(await read(false)).toBe("link.unreachable");
});

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
