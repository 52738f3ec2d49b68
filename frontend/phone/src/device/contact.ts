/** Checks in, and takes the platform's answers. A mirror of `coterie_agent.contact`. */
import { hasProfileNoise } from "../learning/plan";
import { type Capabilities, type CheckIn, Directive, PROTOCOL } from "../wire/messages";
import { declinedIn } from "./consent";
import { delayS, nextCheckInS, Refused, reasonOf, SHORTEST_S } from "./failure";
import { offerOf, QUESTIONS_DEFAULT } from "./fleet_answers";
import { latenciesOf } from "./forms";
import type { Parts } from "./parts";
import { type Now, nowS } from "./situation";

/** What is kept of help under a plan that holds between rounds, beside how it ended. */
const OF_HELP = ["reading", "asked", "verdict", "serving", "portions", "unanswered"] as const;
const NO_STEPS = { steps_done: 0, steps_total: 0 } as const;

type Contacting = Omit<Parts, "model" | "longestS"> & { readonly capabilities: Capabilities };

/** After so many seconds what the device can do is told again where it has not changed. */
const ABILITIES_S = 3600;

export class Contact {
  private checkInS = 15;
  /** Until the platform says that no plan does. */
  private hides = true;
  /** Whether the device was told a window to come back in. */
  private isLarge = false;
  /** The platform is to answer before the device's turn comes. */
  private isAnswerWanted = false;
  /** Digest of the list whose figures the platform has been told since the page was opened. */
  private toldForms = "";
  /** What the platform was told that the device can do since contact with it began, and when, in seconds. */
  private toldAbilities = { capabilities: "", at: 0 };

  constructor(private readonly of: Contacting) {}

  /** The longest pause after a failure. */
  get longestS(): number {
    return Math.max(1, this.checkInS);
  }

  /** Have the platform answer now. */
  ask(): void {
    this.isAnswerWanted = true;
    this.of.situation.wake();
  }

  /** Run until the credential ends; the situation then says why. */
  async run(): Promise<void> {
    const { situation } = this.of;
    let reported: string | null = null;
    let [failures, notBefore, dueAt] = [0, 0, 0];
    while (situation.now.ending === null) {
      const { now } = situation;
      const at = nowS();
      const report = reportOf(now);
      const nextAt = report === reported && !this.isAnswerWanted ? Math.max(dueAt, notBefore) : notBefore;
      if (at < nextAt) {
        await situation.wait(now.edition, nextAt - at);
        continue;
      }
      if (now.conditions.network === "none") {
        situation.replace({ isOnline: false });
        await situation.wait(situation.now.edition, this.checkInS);
        continue;
      }
      try {
        this.isAnswerWanted = false;
        const directive = await this.checkIn(now);
        dueAt = nowS() + nextCheckInS(directive);
        // What was withheld is told at once.
        reported = this.hides && !directive.hides ? null : report;
        [failures, notBefore] = [0, 0];
        await this.follow(directive);
      } catch (error) {
        if (error instanceof Refused && error.isRevoked) {
          situation.replace({ ending: reasonOf(error) });
        } else {
          failures += 1;
          this.toldAbilities = { capabilities: "", at: 0 };
          notBefore = nowS() + delayS(failures, this.checkInS, this.isLarge);
          situation.replace({ isOnline: false, linkProblem: reasonOf(error) });
        }
      }
    }
  }

  private async checkIn(now: Now): Promise<Directive> {
    const message = await this.message(now);
    const directive = await this.of.link.call("check-in", message, Directive);
    if (message.latencies !== undefined) this.toldForms = message.variants ?? "";
    if (message.capabilities !== undefined) {
      this.toldAbilities = { capabilities: JSON.stringify(message.capabilities), at: nowS() };
    }
    return directive;
  }

  private async follow(directive: Directive): Promise<void> {
    const { store, situation, trust, consent, budget, look } = this.of;
    this.checkInS = Math.max(directive.check_in_s, SHORTEST_S);
    this.isLarge = directive.window !== null;
    this.hides = directive.hides;
    if (directive.hides && !(await store.get("isMasked"))) await store.put("isMasked", true);
    await trust.follow(directive.next_keys);
    await this.stand(directive);
    if (directive.federations !== null) {
      await consent.keepOnly(directive.federations);
      await budget.keepOnly(directive.federations);
    }
    situation.replace({ isOnline: true, linkProblem: null });
    situation.direct(directive);
    await look();
  }

  /** Keep the plan that holds between rounds, and give up a personal model that came from a withdrawn version. */
  private async stand({ stands, standing, withdrawn }: Directive): Promise<void> {
    const { store } = this.of;
    const [own, known] = await Promise.all([store.get("own"), store.get("standing")]);
    if (own !== null && withdrawn.includes(own.base)) await store.drop("own", "tuned", "tuning", "portions");
    if (standing !== null) {
      if (known !== null && known.federation !== standing.federation) await store.drop(...OF_HELP);
      await store.put("standing", standing);
    } else if (!stands && known !== null) {
      await store.drop("standing", "tuning", "tuned", "own", ...OF_HELP); // from now on the version answers
    }
  }

  /**
   * The check-in. Where a plan hides in a sum what devices measure, numbers of samples, in all and by class, and of
   * steps are withheld, and how quick the device is: until the platform has said that no plan of the device's federations
   * does, and then until the device accepts an assignment of another plan.
   */
  private async message(now: Now): Promise<CheckIn> {
    const { store, trust, questions, capabilities, consent, held: read } = this.of;
    const declines = declinedIn(await consent.withdrawn());
    const [owner, isMasked, held, trainStepS, labels, standing, asked, known] = await Promise.all([
      store.get("owner"),
      store.get("isMasked"),
      read(),
      store.get("train_step_s"),
      questions.facts(),
      store.get("standing"),
      store.get("asked"),
      store.get("forms"),
    ]);
    const hidden = this.hides || isMasked;
    const isNoised = standing !== null && hasProfileNoise(standing.plan);
    const answers = offerOf(owner?.questions ?? QUESTIONS_DEFAULT);
    const abilities = {
      ...capabilities,
      platform_key: trust.keys.current,
      ...(hidden || trainStepS === null ? {} : { train_step_s: trainStepS }),
      ...(answers === null ? {} : { answers }),
      ...(declines.length === 0 ? {} : { declines }),
    };
    const { toldAbilities: told } = this;
    const isKnown = told.capabilities === JSON.stringify(abilities) && nowS() - told.at < ABILITIES_S;
    return {
      protocol: PROTOCOL,
      conditions: now.conditions,
      blockers: now.blockers.slice(0, 16),
      ...(now.progress === null ? {} : { progress: hidden ? { ...now.progress, ...NO_STEPS } : now.progress }),
      ...(now.version === null ? {} : { version: now.version, variants: now.forms }),
      ...(hidden || known === null || known.digest !== now.forms || known.digest === this.toldForms
        ? {}
        : { latencies: latenciesOf(known, now.conditions) }),
      ...(standing === null ? {} : { standing: standing.digest }),
      ...(asked === null ? {} : { help: asked.request }),
      ...(hidden
        ? {}
        : {
            metadata: {
              samples: held.samples - held.aside,
              class_counts: isNoised ? [] : held.counts.slice(0, 10_000),
              ...(labels === null ? {} : { labels }),
            },
          }),
      ...(isKnown ? {} : { capabilities: abilities }),
    };
  }
}

/** What is told to the platform at once when it changes; counts wait for the next check-in. */
function reportOf({ conditions, blockers, progress, version }: Now): string {
  return JSON.stringify([conditions, blockers.map(({ code }) => code), progress?.assignment, progress?.stage, version]);
}
