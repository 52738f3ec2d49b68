/** What the device does between rounds: a personal model of its own, and its part among its peers. */
import { parseDevicePlan } from "../learning/plan";
import type { Manifest } from "../wire/bundle";
import type { StandingPlan } from "../wire/messages";
import type { Facts } from "./decide";
import { isFetchedAnew, isRetryable, Refused, reasonOf } from "./failure";
import { CHUNK_BYTES, NOTHING } from "./link";
import type { Parts } from "./parts";
import { callsOf } from "./peers/duties";
import type { Member, PeersStatus } from "./peers/member";
import { isTuningDue, localOf, personalise, reportOn } from "./personal";
import { type Now, nowS } from "./situation";

type Working = Pick<Parts, "store" | "link" | "situation" | "model" | "consent"> & {
  /** Have the platform answer now. */
  readonly ask: () => void;
};

export class Between {
  /** The plan between rounds and the version with which it cannot be followed here. */
  private unfit = "";
  /** Its part between rounds; null: it has none, or was not needed yet. */
  private member: Member | null = null;
  /** What had to be done when it began what it does there now. */
  private duties = "";
  /** What the platform had it do at once for itself or others there when it began to train. */
  private calls: readonly string[] = [];
  /** Before that, on `performance.now`'s clock in seconds, nothing is told there, since it failed; 0: it did not. */
  private tellNotBefore = 0;

  constructor(private readonly of: Working) {}

  /** Whether it has a part there, in which something may become due by time. */
  get hasPart(): boolean {
    return this.member !== null;
  }

  /** What the device does with its peers; null: its plan has it do nothing with them. */
  async status(): Promise<PeersStatus | null> {
    return (await this.member?.status()) ?? null;
  }

  /** Whether rounds train the model of its own, so that updates tell what that learned. */
  async sendsOwn(): Promise<boolean> {
    const standing = await this.of.store.get("standing");
    return standing !== null && (localOf(standing)?.trainsPersonalModel ?? false);
  }

  /** What is due for the personal model, and for peers; the latter alone while a round is in hand. */
  async due(isInRound: boolean): Promise<Facts["between"]> {
    const { store, model, consent } = this.of;
    const [standing, tuned, manifest] = await Promise.all([
      store.get("standing"),
      store.get("tuned"),
      model.manifest(),
    ]);
    if (standing === null || manifest === null) {
      this.member = null;
      return null;
    }
    if (nowS() >= this.tellNotBefore) this.tellNotBefore = 0;
    if (!isInRound && tuned !== null && !tuned.reported) return "tell-personal";
    if (this.unfit === unfitOf(standing, manifest)) return null;
    try {
      this.member = await this.memberOf(standing, manifest);
      if (this.member !== null) {
        const due = isInRound ? (await this.member.hasToTell()) && "tell-peers" : await this.member.due();
        return due === false || (due === "tell-peers" && this.tellNotBefore > 0) ? null : due;
      }
      const isDue = !isInRound && (await isTuningDue(store, standing, manifest));
      return isDue && (await consent.covers(standing.federation, standing.plan)) ? "personalise" : null;
    } catch (error) {
      this.abandon(standing, manifest, error);
      return null;
    }
  }

  /** Learn batch by batch, or tell what is due. */
  async takePart(action: "learn-alone" | "tell-peers"): Promise<void> {
    const { situation } = this.of;
    this.duties = dutiesOf(situation.now);
    await (action === "learn-alone" ? this.member?.learn() : this.member?.tell());
    situation.wake(); // its owner sees how it goes on
  }

  /** Train the personal model on samples that came. */
  async personalise(): Promise<void> {
    const { store, situation, model } = this.of;
    const [standing, manifest] = await Promise.all([store.get("standing"), model.manifest()]);
    if (standing === null || manifest === null) return;
    const began = dutiesOf(situation.now);
    try {
      await personalise(standing, manifest, {
        store,
        part: model.part,
        mustStop: () => situation.isHeldBack() || dutiesOf(situation.now) !== began,
        report: (done, total) => situation.step({ tuning: { done, total } }, done === total),
      });
    } catch (error) {
      if (isFetchedAnew(error)) throw error;
      this.abandon(standing, manifest, error);
    } finally {
      situation.replace({ tuning: null });
    }
  }

  /** Tell the platform how good the personal model is, where no plan hides that. */
  async tellPersonal(): Promise<void> {
    const { store, link } = this.of;
    const [tuned, hidden] = await Promise.all([store.get("tuned"), store.get("isMasked")]);
    if (tuned === null) return;
    try {
      if (!hidden) await link.call("report-personal", reportOn(tuned), NOTHING);
    } catch (error) {
      if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
      console.warn(`the platform takes no figures of a personal model: ${error.message}`);
    }
    await store.put("tuned", { ...tuned, reported: true });
  }

  /** It failed in a way that waiting does not mend: nothing more is done under this plan with this version. */
  async giveUp(error: unknown): Promise<void> {
    const [standing, manifest] = await Promise.all([this.of.store.get("standing"), this.of.model.manifest()]);
    if (standing !== null && manifest !== null) this.abandon(standing, manifest, error);
  }

  /** Peers are told nothing for `delayS` seconds; a round in hand goes on meanwhile. */
  postpone(delayS: number): void {
    this.tellNotBefore = nowS() + delayS;
  }

  /** What begins now goes on until there is something to do at once for peers that there is not yet. */
  noteCalls(): void {
    this.calls = this.callsNow();
  }

  /** Whether there is something to do at once for peers that there was not when training began, or to try again. */
  isCalled(): boolean {
    if (this.tellNotBefore > 0 && nowS() >= this.tellNotBefore) return true;
    return this.callsNow().some((call) => !this.calls.includes(call));
  }

  private callsNow(): readonly string[] {
    const { directive } = this.of.situation.now;
    return this.member === null || directive === null ? [] : callsOf(directive);
  }

  private abandon(standing: StandingPlan, manifest: Manifest, error: unknown): void {
    console.warn(`nothing is done between rounds under this plan: ${reasonOf(error).sentence}`);
    this.unfit = unfitOf(standing, manifest);
    this.member = null;
  }

  /** Its part between rounds under a plan that has it learn batch by batch; null: the plan has it do no such thing. */
  private async memberOf(standing: StandingPlan, manifest: Manifest): Promise<Member | null> {
    if (this.member?.isOf(standing, manifest)) return this.member;
    const { store, link, situation, model, consent, ask } = this.of;
    const plan = parseDevicePlan(standing.plan);
    if (plan.personal !== null || (plan.help === null && plan.aloneEveryS === null)) return null;
    if (!(await consent.covers(standing.federation, standing.plan))) return null;
    const { Member } = await import("./peers/member"); // only now: most phones need none of it
    return new Member({
      standing,
      plan,
      manifest,
      store,
      link,
      part: model.part,
      chunkBytes: CHUNK_BYTES,
      now: () => situation.now,
      isOffline: () => situation.isOffline(),
      mustStop: () => situation.isHeldBack() || dutiesOf(situation.now) !== this.duties,
      checkIn: ask,
    });
  }
}

/** What of the platform's answer has to be done before a training of the personal model goes on. */
const dutiesOf = ({ directive }: Now): string =>
  JSON.stringify([
    directive?.assignment?.assignment,
    directive?.manifest?.manifest,
    directive?.stands,
    directive?.help?.portion?.transfer,
    directive?.serve?.transfer,
  ]);

const unfitOf = ({ digest }: StandingPlan, { version }: Manifest): string => `${digest} ${version}`;
