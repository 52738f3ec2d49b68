/**
 * A device's part in a federation between rounds, where devices learn batch by batch and help each other: a mirror of
 * `coterie_agent.peers.membership`, for one worker that does one thing at a time.
 */
import { errorOf } from "../../learning/profile";
import type { SampleNoise } from "../../learning/profile_noise";
import { asksFor, isDrifting, recent } from "../../learning/watch";
import { classesOf, type Manifest } from "../../wire/bundle";
import { CodedError } from "../../wire/errors";
import type { Directive, Reason, StandingPlan } from "../../wire/messages";
import type { Helped, Reading } from "../kept";
import { watchOf } from "../reading";
import { ask, endUnanswered, send, tellVerdict, tryOut, withdraw } from "./being_helped";
import { type Duty, dutyOf, failsOn, mayAsk, type PeersFacts } from "./duties";
import { serve } from "./helping";
import { hasToLearn, learn, readingOf } from "./learning";
import { choicesOf, type HelpingMembership, type Membership } from "./membership";
import { noiseOf, report, withdrawReport } from "./reporting";

const WITHHELD: Reason = {
  code: "help.withheld",
  sentence: "the model fails, and you do not let the device ask for help",
};
const NOT_ASKED_YET: Reason = {
  code: "help.not_asked_yet",
  sentence: "the model fails, and the platform has not heard of it yet",
};

/** What the device does with its peers, for its owner. */
export interface PeersStatus {
  readonly federation: string;
  /** Batches on which the personal model was evaluated. */
  readonly batches: number;
  /** Share of the newest of them that it had wrong; null: none was evaluated yet. */
  readonly error: number | null;
  /** Whether the personal model has begun to fail. */
  readonly drifting: boolean;
  /** Classes that the device has asked for help with, or would. */
  readonly needs: readonly number[];
  /** Why it has not been helped, or not yet; null: it needs no help. */
  readonly wait: Reason | null;
  /** What its profiles and requests tell of one sample; null: they have no noise. */
  readonly noise: SampleNoise | null;
  /** How the latest requests and transfers ended, newest first. */
  readonly helped: readonly Helped[];
}

export class Member {
  /** The answer of the platform that was acted on; a later one tells what came of it. */
  private followed: Directive | null = null;

  /** Throws CodedError `portion.unsupported` where devices help each other with classes that the model has none of. */
  constructor(private readonly membership: Membership) {
    const { plan, manifest } = membership;
    if (plan.help !== null && classesOf(manifest.model) < 2) {
      throw new CodedError(
        "portion.unsupported",
        "devices help each other with classes, and the model tells none apart",
      );
    }
  }

  /** Whether it is still this plan and this version. */
  isOf(standing: StandingPlan, { version }: Manifest): boolean {
    return standing.digest === this.membership.standing.digest && version === this.membership.manifest.version;
  }

  async due(): Promise<"tell-peers" | "learn-alone" | null> {
    if (await this.hasToTell()) return "tell-peers";
    return (await hasToLearn(this.membership)) ? "learn-alone" : null;
  }

  /** Whether something is to be told to the platform or to another device, and can be. */
  async hasToTell(): Promise<boolean> {
    return !this.membership.isOffline() && (await this.duty()) !== null;
  }

  /** Learn until something is to be told, nothing is due or it must stop. Throws CodedError `data.*`, `model.*` or `tensors.*`. */
  async learn(): Promise<void> {
    await learn(this.membership, () => this.hasToTell());
  }

  /** Do the first thing that is due. Throws Unreachable, Refused, or CodedError `bundle.*`, `model.*` or `tensors.*`. */
  async tell(): Promise<void> {
    const helping = this.helping();
    if (helping === null) return;
    const { directive } = helping.now();
    const [duty, reading] = await Promise.all([this.duty(), readingOf(helping)]);
    if (duty !== null) await this.perform(duty, helping, reading, directive);
  }

  /** For the owner; null where devices do not help each other. */
  async status(): Promise<PeersStatus | null> {
    const helping = this.helping();
    if (helping === null) return null;
    const { rules, store, standing } = helping;
    const facts = await this.facts(helping);
    const { watch, asked, helped } = facts;
    const [{ batches }, unanswered, noise] = await Promise.all([
      readingOf(helping),
      store.get("unanswered"),
      noiseOf(helping),
    ]);
    const wanted = watch === null ? [] : asksFor(watch, rules);
    const isOpen = asked === null && wanted.length === 0 && unanswered !== null;
    const last = isOpen && failsOn(unanswered.classes, watch, rules) ? unanswered : null;
    return {
      federation: standing.federation,
      batches,
      error: watch === null ? null : errorOf(recent(watch, rules)),
      drifting: watch !== null && isDrifting(watch),
      needs: asked?.classes ?? last?.classes ?? wanted,
      wait: this.waitOf(facts, wanted) ?? last?.reason ?? null,
      noise,
      helped,
    };
  }

  private waitOf({ asked, choices }: PeersFacts, wanted: readonly number[]): Reason | null {
    if (asked === null) return wanted.length > 0 && !mayAsk(choices) ? WITHHELD : null;
    const news = this.membership.now().directive?.help;
    return (news?.request === asked.request ? news.reason : null) ?? NOT_ASKED_YET;
  }

  private async perform(
    duty: Duty,
    helping: HelpingMembership,
    reading: Reading,
    directive: Directive | null,
  ): Promise<void> {
    switch (duty.do) {
      case "tell-verdict":
        return await tellVerdict(helping, duty.asked, duty.verdict);
      case "ask-again":
        await send(helping, duty.asked);
        break;
      case "withdraw":
        return await withdraw(helping, duty.asked);
      case "end-request":
        return await endUnanswered(helping, duty.asked, duty.news);
      case "try-portion":
        await tryOut(helping, duty.asked, duty.portion);
        break;
      case "serve":
        return await serve(helping, duty.serve);
      case "ask":
        return await ask(helping, reading, duty.watch);
      case "report":
        return await report(helping, reading, duty.watch);
      case "withdraw-report":
        return await withdrawReport(helping, reading, duty.watch);
    }
    this.followed = directive;
  }

  private async duty(): Promise<Duty | null> {
    const helping = this.helping();
    return helping === null ? null : dutyOf(await this.facts(helping));
  }

  private helping(): HelpingMembership | null {
    const { membership } = this;
    const rules = membership.plan.help;
    return rules === null ? null : { ...membership, rules };
  }

  private async facts(helping: HelpingMembership): Promise<PeersFacts> {
    const { rules, standing, store, manifest } = helping;
    const { directive } = helping.now();
    const [choices, asked, verdict, helped, reading] = await Promise.all([
      choicesOf(helping),
      store.get("asked"),
      store.get("verdict"),
      store.get("helped"),
      store.get("reading"),
    ]);
    const hasWatch = reading !== null && reading.watch !== null;
    return {
      rules,
      digest: standing.digest,
      choices,
      asked,
      verdict,
      news: directive === this.followed ? null : (directive?.help ?? null),
      serve: directive?.serve ?? null,
      helped: helped ?? [],
      watch: hasWatch ? watchOf(reading, rules, classesOf(manifest.model)) : null,
      reportedDrifting: reading?.reportedDrifting ?? null,
    };
  }
}
