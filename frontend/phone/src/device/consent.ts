/** What the device's owner has agreed to, edition by edition, and what a plan asks beyond the latest: nothing is done under such a plan. */
import { kindNamed } from "../learning/plan";
import { CodedError } from "../wire/errors";
import type { Asked } from "./kept";
import type { Store } from "./store";

/**
 * What a plan has leave the device: updates that the platform can read, that it reads under noise of the device's own, or
 * that can be read in sums alone; and parts of the device's model, with figures by class, for other devices.
 */
export const SCOPES = ["readable", "noised", "summed", "help"] as const;
export type Scope = (typeof SCOPES)[number];

/** By the kind of privacy. */
const READ_AS: Readonly<Record<string, Scope>> = {
  none: "readable",
  clip: "readable",
  central_noise: "readable",
  correlated_noise: "readable",
  local_noise: "noised",
  secure_aggregation: "summed",
  distributed_noise: "summed",
};

/** Of kinds as a plan names them; one of privacy that this phone does not have counts for nothing, as it takes no part there. */
export function scopesOf(privacy: string, help: string): Scope[] {
  const read = READ_AS[privacy];
  return [...(read === undefined ? [] : [read]), ...(help === "none" ? [] : ["help" as const])];
}

const scopesOfPlan = (plan: unknown): Scope[] => scopesOf(kindNamed(plan, "privacy"), kindNamed(plan, "help"));

/** What of `asked` goes beyond `agreed`: who lets the platform read updates lets it read less of them, too. */
export function beyond(agreed: readonly Scope[], asked: readonly Scope[]): Scope[] {
  const isRead = agreed.includes("readable");
  return asked.filter((one) => !agreed.includes(one) && (one === "help" || !isRead));
}

/** What an owner may take back: `federation:NAME`, a scope, `source:NAME`, or to be asked for labels. */
const FEDERATION = "federation:";
const SOURCE = "source:";
export const LABELS = "labels";

/** What was taken back of the samples of this browser. */
export const sourcesIn = (withdrawn: readonly string[]): ReadonlySet<string> =>
  new Set(withdrawn.flatMap((part) => (part.startsWith(SOURCE) ? [part.slice(SOURCE.length)] : [])));

/** What the platform is told of what was taken back: it has nothing to do with the rest. */
export const declinedIn = (withdrawn: readonly string[]): string[] =>
  withdrawn.filter((part) => part !== LABELS && !part.startsWith(SOURCE));

export class Consent {
  constructor(private readonly store: Store) {}

  /** What the owner has taken back, and not given again. */
  async withdrawn(): Promise<readonly string[]> {
    return (await this.store.get("agreed"))?.at(-1)?.withdrawn ?? [];
  }

  /** Take `part` back, or give it again; the owner has `read` this. */
  async change(part: string, taken: boolean, read: string): Promise<void> {
    const editions = (await this.store.get("agreed")) ?? [];
    const last = editions.at(-1);
    if (last === undefined) throw new CodedError("owner.nothing_agreed", "nothing was agreed to yet");
    const others = (last.withdrawn ?? []).filter((one) => one !== part);
    const withdrawn = taken ? [...others, part].sort() : others;
    await this.store.put("agreed", [...editions, { at: Date.now(), scopes: last.scopes, read, withdrawn }]);
    const asked = await this.store.get("consentAsked");
    if (asked !== null && this.isTaken(withdrawn, asked.federation, asked.scopes))
      await this.store.drop("consentAsked");
  }

  /** Throws CodedError `owner.taken_back` or `owner.not_agreed`. */
  async check(federation: string, plan: unknown): Promise<void> {
    if (this.isTaken(await this.withdrawn(), federation, scopesOfPlan(plan))) {
      throw new CodedError("owner.taken_back", `you have taken back ${federation}, or what its plan asks`);
    }
    if (await this.covers(federation, plan)) return;
    throw new CodedError("owner.not_agreed", `${federation} asks more than this device's owner has agreed to`);
  }

  /** Whether the owner has agreed to what the plan asks; where not, it is remembered what to ask about. */
  async covers(federation: string, plan: unknown): Promise<boolean> {
    const [agreed, asked] = await Promise.all([this.store.get("agreed"), this.store.get("consentAsked")]);
    const last = agreed?.at(-1);
    if (this.isTaken(last?.withdrawn ?? [], federation, scopesOfPlan(plan))) return false; // nor asked again
    const scopes = beyond(last?.scopes ?? [], scopesOfPlan(plan));
    if (scopes.length > 0) await this.store.put("consentAsked", { federation, scopes });
    else if (asked?.federation === federation) await this.store.drop("consentAsked");
    return scopes.length === 0;
  }

  /** A federation that is none of these has ended, or goes on without the device, and asks nothing any more. */
  async keepOnly(federations: readonly string[]): Promise<void> {
    const asked = await this.store.get("consentAsked");
    if (asked !== null && !federations.includes(asked.federation)) await this.store.drop("consentAsked");
  }

  /** The owner, who has `read` this, agrees to these `scopes` beside those of before. */
  async agree(scopes: readonly Scope[], read: string): Promise<void> {
    const editions = (await this.store.get("agreed")) ?? [];
    const last = editions.at(-1);
    const before = last?.scopes ?? [];
    const all = SCOPES.filter((one) => before.includes(one) || scopes.includes(one));
    const withdrawn = (last?.withdrawn ?? []).filter((one) => !(scopes as readonly string[]).includes(one));
    await this.store.put("agreed", [...editions, { at: Date.now(), scopes: all, read, withdrawn }]);
    await this.store.drop("consentAsked");
  }

  private isTaken(withdrawn: readonly string[], federation: string, asked: readonly Scope[]): boolean {
    return [FEDERATION + federation, ...asked].some((part) => withdrawn.includes(part));
  }

  /** What the owner is asked now; null: nothing. */
  asked(): Promise<Asked | null> {
    return this.store.get("consentAsked");
  }
}
