import { expect, test } from "vitest";
import { PRIVACY } from "../learning/privacy";
import { code } from "../testing/failing";
import { beyond, Consent, SCOPES, type Scope, scopesOf } from "./consent";
import type { Values } from "./kept";
import type { Store } from "./store";

/** What `Store` keeps of consent, in memory: IndexedDB is the browser's. */
class Kept {
  readonly values = new Map<string, unknown>();

  async get<K extends keyof Values>(name: K): Promise<Values[K] | null> {
    return (this.values.get(name) as Values[K] | undefined) ?? null;
  }

  async put<K extends keyof Values>(name: K, value: Values[K]): Promise<void> {
    this.values.set(name, value);
  }

  async drop(name: keyof Values): Promise<void> {
    this.values.delete(name);
  }
}

const planOf = (privacy: string, help = "none"): unknown => ({ privacy: { kind: privacy }, help: { kind: help } });

test("every kind of privacy that the phone has says how its updates can be read", () => {
  for (const name of PRIVACY.names) expect(scopesOf(name, "none")).toHaveLength(1);
  expect(scopesOf("of later", "of later")).toEqual(["help"]);
});

test.each<[Scope[], Scope[], Scope[]]>([
  [[], ["readable"], ["readable"]],
  [["readable"], ["noised"], []],
  [["readable"], ["summed", "help"], ["help"]],
  [["summed"], ["readable"], ["readable"]],
  [["summed"], ["noised"], ["noised"]],
  [["noised"], ["summed"], ["summed"]],
  [["summed", "help"], ["summed", "help"], []],
])("who has agreed to %j and is asked %j is asked about %j", (agreed, asked, found) => {
  expect(beyond(agreed, asked)).toEqual(found);
});

test("a plan that asks more waits for the owner, and each edition of the word is kept as it was read", async () => {
  const kept = new Kept();
  const consent = new Consent(kept as unknown as Store);
  await consent.agree(["summed"], "Nobody can read it.");
  expect(await code(consent.check("digits", planOf("secure_aggregation")))).toBe("no error");
  expect(await consent.asked()).toBeNull();
  expect(await code(consent.check("digits", planOf("clip", "cartel")))).toBe("owner.not_agreed");
  expect(await consent.asked()).toEqual({ federation: "digits", scopes: ["readable", "help"] });
  expect(await code(consent.check("others", planOf("distributed_noise")))).toBe("no error");
  expect(await consent.asked()).not.toBeNull(); // another federation asks no less for that
  await consent.agree(["readable", "help"], "The platform can read it.");
  expect(await consent.asked()).toBeNull();
  expect(await code(consent.check("digits", planOf("clip", "cartel")))).toBe("no error");
  const editions = (await kept.get("agreed")) ?? [];
  expect(editions.map(({ read, scopes }) => [read, scopes])).toEqual([
    ["Nobody can read it.", ["summed"]],
    ["The platform can read it.", SCOPES.filter((one) => one !== "noised")],
  ]);
});

test("a plan that asks less again has nothing asked any more", async () => {
  const consent = new Consent(new Kept() as unknown as Store);
  await consent.agree(["summed"], "");
  expect(await consent.covers("digits", planOf("none"))).toBe(false);
  expect(await consent.covers("digits", planOf("secure_aggregation"))).toBe(true);
  expect(await consent.asked()).toBeNull();
});
