import { expect, test } from "vitest";
import { PRIVACY } from "../learning/privacy";
import { partsOf, WORDS } from "../page/consent";
import type { Shown } from "../protocol";
import { code } from "../testing/failing";
import { goldenJson } from "../testing/golden";
import { beyond, Consent, declinedIn, SCOPES, scopesOf, sourcesIn } from "./consent";
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

test("what goes beyond an owner's word is what goes beyond it for an agent", () => {
  const vectors = goldenJson("consent.json");
  expect(vectors.scopes.length).toBeGreaterThan(9);
  for (const { privacy, help, scopes } of vectors.scopes) expect(scopesOf(privacy, help)).toEqual(scopes);
  for (const { agreed, asked, beyond: more } of vectors.beyond) expect(beyond(agreed, asked)).toEqual(more);
  expect(WORDS).toEqual(vectors.words);
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

test("a federation that has ended asks nothing any more, and what was agreed to stays", async () => {
  const kept = new Kept();
  const consent = new Consent(kept as unknown as Store);
  await consent.agree(["summed"], "");
  expect(await consent.covers("digits", planOf("none"))).toBe(false);
  await consent.keepOnly(["digits", "voices"]);
  expect(await consent.asked()).not.toBeNull();
  await consent.keepOnly(["voices"]);
  expect(await consent.asked()).toBeNull();
  expect((await kept.get("agreed"))?.at(-1)?.scopes).toEqual(["summed"]);
});

test("a plan that asks less again has nothing asked any more", async () => {
  const consent = new Consent(new Kept() as unknown as Store);
  await consent.agree(["summed"], "");
  expect(await consent.covers("digits", planOf("none"))).toBe(false);
  expect(await consent.covers("digits", planOf("secure_aggregation"))).toBe(true);
  expect(await consent.asked()).toBeNull();
});

test("a part is taken back and given again, each an edition, and is not asked for meanwhile", async () => {
  const kept = new Kept();
  const consent = new Consent(kept as unknown as Store);
  expect(await code(consent.change("labels", true, ""))).toBe("owner.nothing_agreed");
  await consent.agree(["readable", "help"], "All of it.");
  await consent.change("federation:digits", true, "Not digits.");
  await consent.change("help", true, "No help.");
  expect(await code(consent.check("digits", planOf("none")))).toBe("owner.taken_back");
  expect(await code(consent.check("voices", planOf("none", "cartel")))).toBe("owner.taken_back");
  expect(await consent.covers("voices", planOf("none", "cartel"))).toBe(false);
  expect(await consent.asked()).toBeNull();
  expect(await code(consent.check("voices", planOf("none")))).toBe("no error");
  await consent.change("federation:digits", false, "Digits again.");
  expect(await code(consent.check("digits", planOf("none")))).toBe("no error");
  const editions = (await kept.get("agreed")) ?? [];
  expect(editions.map(({ read, withdrawn }) => [read, withdrawn])).toEqual([
    ["All of it.", []],
    ["Not digits.", ["federation:digits"]],
    ["No help.", ["federation:digits", "help"]],
    ["Digits again.", ["help"]],
  ]);
  await consent.agree(["help"], "Help, again.");
  expect(await consent.withdrawn()).toEqual([]);
});

test("the platform is told what it has to do with, and sources and labels stay on the phone", () => {
  const withdrawn = ["federation:digits", "help", "labels", "source:motion"];
  expect(declinedIn(withdrawn)).toEqual(["federation:digits", "help"]);
  expect(sourcesIn(withdrawn)).toEqual(new Set(["motion"]));
});

test("the page offers each part in the agent's words, and what was taken back although it is gone", () => {
  const agreed = [{ at: 0, scopes: ["readable"], read: "", withdrawn: ["federation:old"] }] as const;
  const takes = { motion: { steps: 8 }, pictures: null, words: null, classes: [] } as unknown as Shown["takes"];
  const parts = partsOf({ agreed, federations: ["digits"], takes });
  expect(parts.map(({ part, isTaken }) => [part, isTaken])).toEqual([
    ["federation:digits", false],
    ["federation:old", true],
    ["readable", false],
    ["source:motion", false],
    ["source:files", false],
    ["labels", false],
  ]);
  expect(parts[0]?.words).toBe(goldenJson("consent.json").federation.replace("NAME", "digits"));
  expect(parts.at(-1)?.words).toBe(goldenJson("consent.json").labels);
  expect(partsOf({ agreed: [], federations: ["digits"], takes })).toEqual([]);
});
