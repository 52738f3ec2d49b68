/** The owner's privacy budget and promises, whatever the platform's ledger says: `coterie_agent.budget` and `coterie_agent.budget_consent`. */
import { costOf, epsilonOf, mostOf, pays } from "../learning/accounting";
import type { Privacy } from "../learning/privacy";
import { CodedError } from "../wire/errors";
import type { Assignment, PrivacyBudget, Reason } from "../wire/messages";
import type { PrivacyChoices } from "./choices";
import type { Promised, StreamPart } from "./kept";
import type { Store } from "./store";

export const OUT_OF_BUDGET = "privacy.device_budget";
/** What the owner allows where nothing else is said: as the agent's settings. */
export const PRIVACY_DEFAULT: PrivacyChoices = { epsilon: 8, delta: 1e-6, raised: "accept" };

/** What was told under noise by the device's own account, and what its owner allows. */
export interface ToldUnderNoise {
  readonly epsilon: number;
  readonly allowedEpsilon: number;
  readonly delta: number;
  /** Epsilon of each federation alone. */
  readonly federations: Readonly<Record<string, number>>;
  /** Why the device takes no part where a budget was raised. */
  readonly raised: readonly { readonly federation: string; readonly sentence: string }[];
}

/** As a person reads it: three digits. */
export const digits = (number: number): string => String(Number(number.toPrecision(3)));

export class Budget {
  constructor(private readonly store: Store) {}

  /**
   * What a plan's noise and promises ask before the device trains: its turn in a stream, the owner's word, the budget.
   * Throws CodedError `privacy.*`.
   */
  async check(assignment: Assignment, privacy: Privacy): Promise<void> {
    await this.checkTurn(assignment, privacy);
    if (assignment.budget !== null) await this.promise(assignment.federation, assignment.budget);
    if (privacy.noiseMultiplier !== null) await this.checkNoise(privacy.noiseMultiplier);
  }

  /** Whether the budget pays for a release with so much noise. Throws CodedError `privacy.device_budget`. */
  async checkNoise(multiplier: number): Promise<void> {
    const [allowed, cost] = [await this.allowed(), costOf(multiplier)];
    if (!pays(mostAllowed(allowed), await this.store.spent(), cost)) throw await this.refusal(allowed, cost);
  }

  /** Write down what the update with this hash will tell, before any of it leaves. Throws CodedError `privacy.device_budget`. */
  async charge({ assignment, federation }: Assignment, privacy: Privacy, sha256: string): Promise<void> {
    if (privacy.noiseMultiplier === null) return;
    const release = privacy.releases === "updates" ? `${assignment} ${sha256.slice(0, 16)}` : assignment;
    await this.chargeNoise(release, federation, privacy.noiseMultiplier);
  }

  /** The same of a release that is known by its name. Throws CodedError `privacy.device_budget`. */
  async chargeNoise(release: string, federation: string, multiplier: number): Promise<void> {
    const [allowed, mu2] = [await this.allowed(), costOf(multiplier)];
    if (!(await this.store.charge({ release, federation, mu2, at: Date.now() }, mostAllowed(allowed)))) {
      throw await this.refusal(allowed, mu2);
    }
  }

  /** The owner agrees to what is asked. Throws CodedError `privacy.nothing_asked`. */
  async agree(federation: string): Promise<PrivacyBudget> {
    const asked = (await this.store.promised(federation))?.asked ?? null;
    if (asked === null) throw new CodedError("privacy.nothing_asked", `no larger budget of ${federation} is asked for`);
    await this.store.promise({ federation, agreed: asked, asked: null });
    return asked;
  }

  /** A federation that is none of these asks for nothing any more; what was agreed to stays. */
  async keepOnly(federations: readonly string[]): Promise<void> {
    for (const { federation, agreed } of await this.store.raised()) {
      if (!federations.includes(federation)) await this.store.promise({ federation, agreed, asked: null });
    }
  }

  async told(): Promise<ToldUnderNoise> {
    const [{ epsilon, delta }, spent, each, raised] = await Promise.all([
      this.allowed(),
      this.store.spent(),
      this.store.spentByFederation(),
      this.store.raised(),
    ]);
    return {
      epsilon: epsilonOf(spent, delta),
      allowedEpsilon: epsilon,
      delta,
      federations: Object.fromEntries([...each].map(([name, mu2]) => [name, epsilonOf(mu2, delta)])),
      raised: raised.map((one) => ({ federation: one.federation, sentence: reasonOfRaised(one).sentence })),
    };
  }

  /** A number that is offered again is that of a round that came to nothing. */
  private async checkTurn(assignment: Assignment, privacy: Privacy): Promise<void> {
    const part = partOf(assignment, privacy);
    const latest = part === null ? null : await this.store.latestPart(part);
    if (part === null || latest === null || part.number === latest || part.number - latest >= part.apart) return;
    const detail =
      `the plan's noise hides parts that are ${part.apart} releases apart` +
      `; this one is number ${part.number}, and the device was in number ${latest}`;
    throw new CodedError("privacy.too_soon", detail);
  }

  /** Take what the platform says that a federation may tell; the first that is said, and what is no more, holds. */
  private async promise(federation: string, budget: PrivacyBudget): Promise<void> {
    const [before, { raised }] = await Promise.all([this.store.promised(federation), this.allowed()]);
    if (before === null || raised === "accept" || isWithin(before.agreed, budget)) {
      await this.store.promise({ federation, agreed: budget, asked: null });
      return;
    }
    const asked = { ...before, asked: budget };
    await this.store.promise(asked);
    const { code, sentence } = reasonOfRaised(asked);
    throw new CodedError(code, sentence);
  }

  private async allowed(): Promise<PrivacyChoices> {
    return (await this.store.get("owner"))?.privacy ?? PRIVACY_DEFAULT;
  }

  private async refusal({ epsilon, delta }: PrivacyChoices, cost: number): Promise<CodedError> {
    const told = digits(epsilonOf(await this.store.spent(), delta));
    const detail =
      `this would tell epsilon ${digits(epsilonOf(cost, delta))} of the device; ${told} were told before, ` +
      `and its owner allows ${epsilon} in all`;
    return new CodedError(OUT_OF_BUDGET, detail);
  }
}

/** The part that `assignment` asks for; null: the plan's releases are no stream. Throws CodedError `privacy.not_numbered`. */
export function partOf({ assignment, federation, stream_index }: Assignment, { apart }: Privacy): StreamPart | null {
  if (apart === null) return null;
  if (stream_index === null) {
    const detail = "the plan's noise hides parts that are apart, and the platform did not number this one";
    throw new CodedError("privacy.not_numbered", detail);
  }
  return { assignment, federation, apart, number: stream_index };
}

function reasonOfRaised({ federation, agreed, asked }: Promised): Reason {
  const of = (one: PrivacyBudget | null): string => `epsilon ${one?.epsilon} at delta ${one?.delta}`;
  const sentence = `${federation} may now tell ${of(asked)} of this device, and ${of(agreed)} was agreed`;
  return { code: "privacy.budget_raised", sentence };
}

const mostAllowed = ({ epsilon, delta }: PrivacyChoices): number => (epsilon > 0 ? mostOf(epsilon, delta) : 0);

const isWithin = (agreed: PrivacyBudget, budget: PrivacyBudget): boolean =>
  pays(mostOf(agreed.epsilon, agreed.delta), 0, mostOf(budget.epsilon, budget.delta));
