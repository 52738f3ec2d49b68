/** The running device: it checks in, and does the work. It decides by the situation and the store, so a tab can be
 * killed at any moment. A mirror of `coterie_agent.contact` and `coterie_agent.worker`. */
import { readVersion } from "../learning/client_round";
import type { Scope } from "../learning/local/interface";
import {
  type DevicePlan,
  hasProfileNoise,
  OWN_KINDS,
  parseDevicePlan,
  privacyNamed,
  requirementsOf,
} from "../learning/plan";
import type { Privacy } from "../learning/privacy";
import type { Masking } from "../learning/privacy/masking";
import type { OwnFacts } from "../learning/question";
import { partsOfTeacher, type Teacher, verifyTeacher } from "../learning/teacher";
import { takesOf } from "../sources/takes";
import { type BlobRef, type Manifest, partsOf, verifyManifest } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import {
  type Assignment,
  type Capabilities,
  type CheckIn,
  type Conditions,
  Directive,
  ExportPage,
  ForgetNews,
  PROTOCOL,
  type Progress,
  type Reason,
  type SignedManifest,
  type StandingPlan,
} from "../wire/messages";
import { followed, pinned, trusted } from "../wire/platform_keys";
import type { Tensors } from "../wire/tensors";
import { digestOf, verifyVariants } from "../wire/variants";
import { Budget, OUT_OF_BUDGET } from "./budget";
import { Consent } from "./consent";
import { type Action, decide, type Facts } from "./decide";
import { delayS, isRetryable, nextCheckInS, Refused, reasonOf, SHORTEST_S } from "./failure";
import { FleetAnswers, offerOf, QUESTIONS_DEFAULT } from "./fleet_answers";
import { latenciesOf, measureForms } from "./forms";
import type { Finished, Identity, KnownForms, Spooled } from "./kept";
import { deliver, Link, NOTHING } from "./link";
import { frozenOf } from "./opened";
import { callsOf } from "./peers/duties";
import type { Member, PeersStatus } from "./peers/member";
import { answeringTensors, isTuningDue, localOf, personalise, reportOn } from "./personal";
import { blocksNetwork, judge, judgeData, judgeSpace, OWNER_DEFAULT } from "./policy";
import { Predictor } from "./predictor";
import { type Answering, Questions } from "./questions";
import { type Now, nowS, Situation } from "./situation";
import { Sources } from "./sources";
import type { Store } from "./store";
import { Teaching } from "./teaching";
import { type Halt, train } from "./training";

/** The round has ended without the update. */
const CLOSED = "rounds.assignment_closed";
const CHUNK_BYTES = 256 << 10;
const LONGEST_MARGIN_S = 2;
const PROGRESS_S = 0.5;
/** Between two looks at whether training on new samples outside of rounds is due by time. */
const LOOK_EVERY_S = 5;
/** What is kept of help under a plan that holds between rounds, beside how it ended. */
const OF_HELP = ["reading", "asked", "verdict", "serving", "portions", "unanswered"] as const;
const NO_LOG: Reason = { code: "logs.none_kept", sentence: "the page that a phone trains with keeps no log" };
const PAUSED: Reason = { code: "owner.paused", sentence: "its owner has paused training" };

/** What this browser is, as reported to the platform. */
export function capabilitiesOf(agent: string): Capabilities {
  const { hardwareConcurrency } = navigator;
  // Chromium rounds it and stops at 8; others do not tell.
  const gibibytes = (navigator as { deviceMemory?: number }).deviceMemory ?? 0;
  return {
    cores: Math.max(1, hardwareConcurrency ?? 1),
    memory_bytes: gibibytes * 2 ** 30,
    machine: "WebAssembly in a browser",
    agent,
    kinds: OWN_KINDS,
    logs: { refuses: NO_LOG },
  };
}

export class Device {
  readonly situation = new Situation();
  readonly questions: Questions;
  readonly sources: Sources;
  readonly budget: Budget;
  readonly consent: Consent;
  private readonly fleetAnswers: FleetAnswers;
  private readonly link: Link;
  private conditions: Conditions | null = null;
  private refused: string | null = null;
  /** A list of smaller forms that cannot be used; it is not tried again. */
  private badForms: string | null = null;
  /** Digest of the list whose figures the platform has been told since the page was opened. */
  private toldForms = "";
  private reportedAt = 0;
  private failures = 0;
  private checkInS = 15;
  /** Until the platform says that no plan does. */
  private hides = true;
  /** Whether the device was told a window to come back in. */
  private isLarge = false;
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
  /** The platform is to answer before the device's turn comes. */
  private isAnswerWanted = false;

  constructor(
    private identity: Identity,
    private readonly store: Store,
    private readonly capabilities: Capabilities,
  ) {
    this.budget = new Budget(store);
    this.consent = new Consent(store);
    this.questions = new Questions(
      store,
      () => this.held(),
      () => this.answering(),
    );
    this.sources = new Sources(
      store,
      () => this.held(),
      () => this.answering(),
    );
    this.link = new Link(identity.credential, (what, bytes, body) => store.recordSent(what, bytes, body));
    this.fleetAnswers = new FleetAnswers({
      device: identity.device,
      store,
      link: this.link,
      budget: this.budget,
      situation: this.situation,
      isOffline: () => this.isOffline(),
      facts: () => this.facts(),
      longestS: () => Math.max(1, this.checkInS),
      chunkBytes: CHUNK_BYTES,
    });
  }

  get name(): string {
    return this.identity.name;
  }

  /** In milliseconds since 1970. */
  get joinedAt(): number {
    return this.identity.joinedAt;
  }

  /** Run until the credential ends; the situation then says why. */
  async run(): Promise<void> {
    await this.holdModel();
    await this.look();
    await Promise.all([this.contact(), this.work(), this.fleetAnswers.run()]);
  }

  /** What the page sees of the conditions. */
  async observe(conditions: Conditions): Promise<void> {
    this.conditions = conditions;
    await this.look();
  }

  /** Judge the conditions, the samples and the owner's choices anew. */
  async look(): Promise<void> {
    const { conditions, store } = this;
    if (conditions === null) return;
    const owner = await store.get("owner");
    const [held, inHand] = await Promise.all([this.held(), store.get("assignment")]);
    const directive = this.situation.now.directive;
    const plan = inHand === null ? (directive?.requirements ?? null) : requirementsOf(inHand.plan);
    const paused = owner !== null && Date.now() < owner.pausedUntil ? [PAUSED] : [];
    this.situation.replace({
      conditions,
      blockers: [
        ...paused,
        ...judge(plan, owner?.policy ?? OWNER_DEFAULT, conditions, new Date().getHours()),
        ...judgeData(held, this.situation.now.model),
        ...judgeSpace(await freeBytes()),
      ],
    });
  }

  /** The owner's samples changed. */
  async samplesChanged(): Promise<void> {
    this.heldOnce = null;
    await this.look();
    this.situation.wake();
  }

  /** What the device does with its peers; null: its plan has it do nothing with them. */
  async peers(): Promise<PeersStatus | null> {
    return (await this.member?.status()) ?? null;
  }

  /** Whether rounds train the model of its own, so that updates tell what that learned. */
  async sendsOwn(): Promise<boolean> {
    const standing = await this.store.get("standing");
    return standing !== null && (localOf(standing)?.trainsPersonalModel ?? false);
  }

  /** What the platform knows of the device, by section. Throws Unreachable or Refused. */
  async platformKnows(): Promise<Record<string, unknown[]>> {
    const known: Record<string, unknown[]> = {};
    for (const section of (await this.link.call("read-export", {}, ExportPage)).sections) {
      known[section] = [];
      let after = "";
      do {
        const page = await this.link.call("read-export", { section, after }, ExportPage);
        known[section].push(...page.rows);
        after = page.after;
      } while (after !== "");
    }
    return known;
  }

  /** End the credential. Throws Unreachable or Refused. */
  async leave(): Promise<void> {
    await this.link.call("leave", {}, NOTHING);
    this.situation.replace({ ending: { code: "fleet.left", sentence: "this device has left the fleet" } });
  }

  /**
   * End the credential and have the platform forget the device, under a number that is kept before it is sent: asked
   * again after a kill, it is the same. Throws Unreachable or Refused.
   */
  async beForgotten(): Promise<ForgetNews> {
    const receipt = (await this.store.get("receipt")) ?? crypto.randomUUID();
    await this.store.put("receipt", receipt);
    const news = await this.link.call("forget", { receipt }, ForgetNews);
    this.situation.replace({ ending: { code: "fleet.left", sentence: news.sentence } });
    return news;
  }

  /** What it knows of itself that a question may be about. */
  private async facts(): Promise<OwnFacts> {
    const { cores, memory_bytes, machine, agent } = this.capabilities;
    const { conditions, blockers } = this.situation.now;
    const [held, [latest], trainStepS, uploadS] = await Promise.all([
      this.held(),
      this.store.finished(),
      this.store.get("train_step_s"),
      this.store.get("upload_s"),
    ]);
    const { charging, network, idle, temperature_c } = conditions;
    const [reason, outcome] = [blockers[0]?.code ?? "none", latest?.outcome ?? "none"];
    return {
      classCounts: held.counts,
      quantities: {
        samples: held.samples,
        train_step_s: trainStepS,
        upload_s: uploadS,
        temperature_c,
        cores,
        memory_bytes: memory_bytes === 0 ? null : memory_bytes, // the browser does not tell
      },
      properties: { machine, agent, charging, network, idle, reason, outcome },
      isFailing: outcome === "dropped" || outcome === "released",
      isWaiting: blockers.length > 0,
    };
  }

  private heldOnce: ReturnType<Store["held"]> | null = null;

  /** What is known of the samples; read once, until they change. */
  held(): ReturnType<Store["held"]> {
    this.heldOnce ??= this.store.held();
    return this.heldOnce;
  }

  /** The model that answers, the personal one where there is one, else the version that the device holds; null: there is none, or it is fetched again. */
  async answering(): Promise<Answering | null> {
    const manifest = await this.heldManifest();
    return manifest === null ? null : { manifest, outputs: (xs) => this.outputs(manifest, xs) };
  }

  private async heldManifest(): Promise<Manifest | null> {
    const signed = await this.store.get("model");
    if (signed === null || this.situation.now.version === null) return null;
    return verifyManifest(signed, ...pinned(this.identity.platformKeys));
  }

  private async outputs(manifest: Manifest, xs: readonly Float32Array[]): Promise<number[][]> {
    const { model } = manifest;
    const [own, standing] = await Promise.all([this.store.get("own"), this.store.get("standing")]);
    const form = own === null ? await this.form(manifest) : null;
    if (form !== null) return outputsOf(await Predictor.alone(form, model), new Map(), xs);
    const frozen = await frozenOf(manifest, (sha256) => this.part(sha256));
    const read = async () => readVersion(await this.part(manifest.parameters.sha256), model);
    const version = await answeringTensors(own, standing, manifest, read);
    return outputsOf(await Predictor.open(await this.part(manifest.predict.sha256), model, frozen), version, xs);
  }

  /** How quick each form of the version is that the device holds; null: it knows no smaller one. */
  async knownForms(): Promise<KnownForms | null> {
    const known = await this.store.get("forms");
    return known?.version === this.situation.now.version ? known : null;
  }

  /** The graph of the smaller form that was chosen; null: the version itself answers. */
  private async form({ version }: Manifest): Promise<Uint8Array | null> {
    const known = await this.store.get("forms");
    if (known === null || known.version !== version || known.graph === null) return null;
    const graph = await this.store.blob(known.graph.sha256);
    if (graph === null) await this.forgetForms(); // the disk has lost it: the version answers until it is there again
    return graph;
  }

  private async forgetForms(): Promise<void> {
    await this.store.drop("forms");
    this.situation.replace({ forms: "" });
  }

  /** A version that has lost a part is not held, so that the platform sends it again. */
  private async holdModel(): Promise<void> {
    const signed = await this.store.get("model");
    if (signed === null) return;
    try {
      const manifest = verifyManifest(signed, ...pinned(this.identity.platformKeys));
      for (const { sha256 } of partsOf(manifest)) if ((await this.store.blob(sha256)) === null) return;
      const known = await this.store.get("forms");
      const forms = known?.version === manifest.version ? known.digest : "";
      this.situation.replace({ version: manifest.version, model: manifest.model, takes: takesOf(manifest), forms });
    } catch (error) {
      console.warn(`the model's manifest is damaged and is fetched again: ${(error as Error).message}`);
    }
  }

  private async contact(): Promise<void> {
    let reported: string | null = null;
    let [failures, notBefore, dueAt] = [0, 0, 0];
    while (this.situation.now.ending === null) {
      const { now } = this.situation;
      const at = nowS();
      const report = reportOf(now);
      const nextAt = report === reported && !this.isAnswerWanted ? Math.max(dueAt, notBefore) : notBefore;
      if (at < nextAt) {
        await this.situation.wait(now.edition, nextAt - at);
        continue;
      }
      if (now.conditions.network === "none") {
        this.situation.replace({ isOnline: false });
        await this.situation.wait(this.situation.now.edition, this.checkInS);
        continue;
      }
      try {
        this.isAnswerWanted = false;
        const message = await this.message(now);
        const directive = await this.link.call("check-in", message, Directive);
        if (message.latencies !== undefined) this.toldForms = message.variants ?? "";
        this.checkInS = Math.max(directive.check_in_s, SHORTEST_S);
        this.isLarge = directive.window !== null;
        dueAt = nowS() + nextCheckInS(directive);
        [failures, notBefore, reported] = [0, 0, report];
        // What was withheld is told at once.
        if (this.hides && !directive.hides) reported = null;
        this.hides = directive.hides;
        if (directive.hides && !(await this.store.get("isMasked"))) await this.store.put("isMasked", true);
        await this.followKeys(directive.next_keys);
        await this.stand(directive);
        if (directive.federations !== null) {
          await this.consent.keepOnly(directive.federations);
          await this.budget.keepOnly(directive.federations);
        }
        this.situation.replace({ isOnline: true, linkProblem: null });
        this.situation.direct(directive);
        await this.look();
      } catch (error) {
        if (error instanceof Refused && error.isRevoked) {
          this.situation.replace({ ending: reasonOf(error) });
        } else {
          failures += 1;
          notBefore = nowS() + delayS(failures, this.checkInS, this.isLarge);
          this.situation.replace({ isOnline: false, linkProblem: reasonOf(error) });
        }
      }
    }
  }

  /** Keep the plan that holds between rounds, and give up a personal model that came from a withdrawn version. */
  private async stand({ stands, standing, withdrawn }: Directive): Promise<void> {
    const [own, known] = await Promise.all([this.store.get("own"), this.store.get("standing")]);
    if (own !== null && withdrawn.includes(own.base)) await this.store.drop("own", "tuned", "tuning", "portions");
    if (standing !== null) {
      if (known !== null && known.federation !== standing.federation) await this.store.drop(...OF_HELP);
      await this.store.put("standing", standing);
    } else if (!stands && known !== null) {
      await this.store.drop("standing", "tuning", "tuned", "own", ...OF_HELP); // from now on the version answers
    }
  }

  /** Before anything of the answer is read, which the last of these keys has signed. */
  private async followKeys(statements: readonly SignedManifest[]): Promise<void> {
    if (statements.length === 0) return;
    try {
      const identity = { ...this.identity, platformKeys: followed(this.identity.platformKeys, statements) };
      await this.store.put("identity", identity);
      this.identity = identity;
    } catch (error) {
      console.error(`the platform names a key that its own did not sign: ${(error as Error).message}`);
    }
  }

  /**
   * The check-in. Where a plan hides in a sum what devices measure, numbers of samples, in all and by class, and of
   * steps are withheld, and how quick the device is: until the platform has said that no plan of the device's federations
   * does, and then until the device accepts an assignment of another plan.
   */
  private async message(now: Now): Promise<CheckIn> {
    const [owner, isMasked, held, trainStepS, labels, standing, asked, known] = await Promise.all([
      this.store.get("owner"),
      this.store.get("isMasked"),
      this.held(),
      this.store.get("train_step_s"),
      this.questions.facts(),
      this.store.get("standing"),
      this.store.get("asked"),
      this.store.get("forms"),
    ]);
    const hidden = this.hides || isMasked;
    const isNoised = standing !== null && hasProfileNoise(standing.plan);
    const answers = offerOf(owner?.questions ?? QUESTIONS_DEFAULT);
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
              samples: held.samples,
              class_counts: isNoised ? [] : held.counts.slice(0, 10_000),
              ...(labels === null ? {} : { labels }),
            },
          }),
      capabilities: {
        ...this.capabilities,
        platform_key: this.identity.platformKeys.current,
        ...(hidden || trainStepS === null ? {} : { train_step_s: trainStepS }),
        ...(answers === null ? {} : { answers }),
      },
    };
  }

  private async work(): Promise<void> {
    while (this.situation.now.ending === null) {
      const { now } = this.situation;
      const action = await this.next(now);
      if (action.do === "rest") {
        await this.reportWaiting();
        await this.situation.wait(now.edition, this.member === null ? null : LOOK_EVERY_S);
        continue;
      }
      try {
        await this.perform(action);
        this.failures = 0;
      } catch (error) {
        await this.failed(action, error);
      }
    }
  }

  private async next(now: Now): Promise<Action> {
    const [inHand, spooled] = await Promise.all([this.store.get("assignment"), this.store.get("spooled")]);
    let assigned = now.directive?.assignment ?? null;
    if (assigned !== null && (await this.store.isFinished(assigned.assignment))) assigned = null;
    let champion = now.directive?.manifest ?? null;
    const held = await this.store.get("model");
    const isHeld = now.version !== null && champion?.manifest === held?.manifest;
    if (champion?.manifest === this.refused || isHeld) champion = null;
    const forms = this.newForms(now);
    return decide({
      inHand,
      spooled: spooled !== null,
      answered: now.directive !== null,
      assigned,
      champion,
      forms,
      blockers: now.blockers,
      between: inHand !== null ? await this.between(true) : assigned === null ? await this.between(false) : null,
    });
  }

  /** A list of smaller forms that the device does not know, and has not refused. */
  private newForms({ directive, version, forms }: Now): SignedManifest | null {
    const listed = directive?.variants ?? null;
    if (listed === null || version === null || listed.manifest === this.badForms) return null;
    return digestOf(listed) === forms ? null : listed;
  }

  /** Have the smaller forms of the version that is held, see how quick each is here, and which one predicts. */
  private async takeForms(signed: SignedManifest): Promise<void> {
    const listed = verifyVariants(signed, ...this.trusted());
    const manifest = await this.heldManifest();
    if (manifest === null) return;
    if (listed.version !== manifest.version) {
      const detail = "the list of smaller forms is of another version than the device holds";
      throw new CodedError("bundle.malformed", detail);
    }
    const stop = (): boolean => this.isOffline();
    const graphs = listed.variants.map(({ graph }) => graph);
    if (!(await this.download(graphs, [...partsOf(manifest), ...graphs], stop))) return;
    const part = (sha256: string): Promise<Uint8Array> => this.part(sha256);
    const received = readVersion(await part(manifest.parameters.sha256), manifest.model);
    const frozen = await frozenOf(manifest, part);
    const known = await measureForms(listed, digestOf(signed), manifest, { part, received, frozen, stop });
    if (known === null) return;
    await this.store.put("forms", known);
    this.situation.replace({ forms: known.digest });
  }

  /** What is due for the personal model, and for peers; the latter alone while a round is in hand. */
  private async between(isInRound: boolean): Promise<Facts["between"]> {
    const [standing, tuned, manifest] = await Promise.all([
      this.store.get("standing"),
      this.store.get("tuned"),
      this.heldManifest(),
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
      const isDue = !isInRound && (await isTuningDue(this.store, standing, manifest));
      return isDue && (await this.consent.covers(standing.federation, standing.plan)) ? "personalise" : null;
    } catch (error) {
      this.giveUp(standing, manifest, error);
      return null;
    }
  }

  private giveUp(standing: StandingPlan, manifest: Manifest, error: unknown): void {
    console.warn(`nothing is done between rounds under this plan: ${reasonOf(error).sentence}`);
    this.unfit = unfitOf(standing, manifest);
    this.member = null;
  }

  private async giveUpPeers(error: unknown): Promise<void> {
    const [standing, manifest] = await Promise.all([this.store.get("standing"), this.heldManifest()]);
    if (standing !== null && manifest !== null) this.giveUp(standing, manifest, error);
  }

  /** Its part between rounds under a plan that has it learn batch by batch; null: the plan has it do no such thing. */
  private async memberOf(standing: StandingPlan, manifest: Manifest): Promise<Member | null> {
    if (this.member?.isOf(standing, manifest)) return this.member;
    const plan = parseDevicePlan(standing.plan);
    if (plan.personal !== null || (plan.help === null && plan.aloneEveryS === null)) return null;
    if (!(await this.consent.covers(standing.federation, standing.plan))) return null;
    const { Member } = await import("./peers/member"); // only now: most phones need none of it
    const { store, link, situation } = this;
    return new Member({
      standing,
      plan,
      manifest,
      store,
      link,
      part: (sha256) => this.part(sha256),
      chunkBytes: CHUNK_BYTES,
      now: () => situation.now,
      isOffline: () => this.isOffline(),
      mustStop: () => this.isHeldBack() || dutiesOf(situation.now) !== this.duties,
      checkIn: () => {
        this.isAnswerWanted = true;
        situation.wake();
      },
    });
  }

  /** Learn batch by batch, or tell what is due. */
  private async takePart(action: "learn-alone" | "tell-peers"): Promise<void> {
    this.duties = dutiesOf(this.situation.now);
    await (action === "learn-alone" ? this.member?.learn() : this.member?.tell());
    this.situation.wake(); // its owner sees how it goes on
  }

  private async personalise(): Promise<void> {
    const [standing, manifest] = await Promise.all([this.store.get("standing"), this.heldManifest()]);
    if (standing === null || manifest === null) return;
    const began = dutiesOf(this.situation.now);
    try {
      await personalise(standing, manifest, {
        store: this.store,
        part: (sha256) => this.part(sha256),
        mustStop: () => this.isHeldBack() || dutiesOf(this.situation.now) !== began,
        report: (done, total) => this.reportTuning(done, total),
      });
    } catch (error) {
      if (isFetchedAnew(error)) throw error;
      this.giveUp(standing, manifest, error);
    } finally {
      this.situation.replace({ tuning: null });
    }
  }

  private async tellPersonal(): Promise<void> {
    const [tuned, hidden] = await Promise.all([this.store.get("tuned"), this.store.get("isMasked")]);
    if (tuned === null) return;
    try {
      if (!hidden) await this.link.call("report-personal", reportOn(tuned), NOTHING);
    } catch (error) {
      if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
      console.warn(`the platform takes no figures of a personal model: ${error.message}`);
    }
    await this.store.put("tuned", { ...tuned, reported: true });
  }

  private async reportWaiting(): Promise<void> {
    const [inHand, spooled] = await Promise.all([this.store.get("assignment"), this.store.get("spooled")]);
    if (inHand !== null) this.report(inHand, spooled === null ? "waiting" : "uploading");
  }

  private async perform(action: Exclude<Action, { do: "rest" }>): Promise<void> {
    switch (action.do) {
      case "accept":
        await this.store.accept(action.assignment, isMasked(action.assignment.plan));
        this.report(action.assignment, "accepted");
        await this.look();
        break;
      case "train":
        await this.train(action.assignment);
        break;
      case "upload":
        await this.upload(action.assignment);
        break;
      case "drop":
        await this.finish(action.assignment, "dropped", "the platform has taken the assignment back");
        break;
      case "fetch":
        await this.fetch(action.champion);
        break;
      case "take-forms":
        await this.takeForms(action.forms);
        break;
      case "personalise":
        await this.personalise();
        break;
      case "tell-personal":
        await this.tellPersonal();
        break;
      case "learn-alone":
      case "tell-peers":
        await this.takePart(action.do);
    }
  }

  private async train(assignment: Assignment): Promise<void> {
    const plan = parseDevicePlan(assignment.plan);
    await this.consent.check(assignment.federation, assignment.plan);
    await this.budget.check(assignment, plan.privacy);
    this.situation.replace({ budgetWait: null });
    this.calls = this.callsNow();
    const stop = (): boolean => this.mustPause(assignment);
    const teacher = this.teacherOf(assignment, plan);
    const manifest = await this.fetch(assignment.manifest, stop, teacher === null ? [] : partsOfTeacher(teacher));
    if (manifest === null) return;
    this.report(assignment, "training");
    const uploadS = (await this.store.get("upload_s")) ?? 0;
    const isDone = await train(assignment, manifest, {
      store: this.store,
      part: (sha256) => this.part(sha256),
      halt: (finishingS) => this.halt(assignment, finishingS, uploadS),
      report: (done, total) => this.reportSteps(assignment, done, total),
      teaching: teacher === null ? null : this.teaching(teacher, manifest, stop),
      counts: (await this.held()).counts,
    });
    this.report(assignment, isDone ? "uploading" : "waiting");
  }

  /** The teacher that the plan asks for. Throws CodedError `bundle.*` or `data.no_teacher`. */
  private teacherOf({ teacher }: Assignment, { local }: DevicePlan): Teacher | null {
    if (!local.needsTeacher) return null;
    if (teacher === null) {
      throw new CodedError("data.no_teacher", "the plan learns from the cloud model, and the platform named none");
    }
    return verifyTeacher(teacher, ...this.trusted());
  }

  private teaching(teacher: Teacher, manifest: Manifest, stop: () => boolean): Teaching {
    const [own, its] = [partsOf(manifest), partsOfTeacher(teacher)];
    return new Teaching({
      teacher,
      store: this.store,
      part: (sha256) => this.part(sha256),
      fetch: () => this.download(its, [...own, ...its], stop),
      ownParts: new Set(own.map(({ sha256 }) => sha256)),
      free: freeBytes,
    });
  }

  private async upload(assignment: Assignment): Promise<void> {
    const spooled = await this.store.get("spooled");
    if (spooled === null) return; // the disk has damaged it since `next` saw it
    this.report(assignment, "uploading");
    const { privacy, local } = parseDevicePlan(assignment.plan);
    if (privacy.masking !== null) {
      await this.sum(assignment, spooled, { privacy, masking: privacy.masking, scope: local.scope });
      return;
    }
    await this.budget.charge(assignment, privacy, spooled.offer.sha256);
    const started = nowS();
    const stop = (): boolean => blocksNetwork(this.situation.now.blockers);
    try {
      const outcome = await deliver(this.link, "update", spooled.offer, spooled.payload, {
        chunkBytes: CHUNK_BYTES,
        stop,
      });
      if (outcome === "stopped") return;
    } catch (error) {
      if (error instanceof Refused && !error.isRevoked && !isRetryable(error)) {
        const isUncounted = error.code === CLOSED;
        const toldNothing = isUncounted && privacy.releases === "sums"; // the platform's noise would have been on the sum
        await this.finish(assignment, "dropped", error.message, { isUncounted, toldNothing });
        return;
      }
      throw error;
    }
    await this.store.put("upload_s", nowS() - started);
    await this.finish(assignment, "accepted", `update of ${spooled.offer.size_bytes} bytes accepted`);
  }

  /** Bring the update, and what was measured, into a sum in which nobody can read it. */
  private async sum(
    assignment: Assignment,
    spooled: Spooled,
    { privacy, masking, scope }: { privacy: Privacy; masking: Masking; scope: Scope },
  ): Promise<void> {
    const manifest = await this.fetch(assignment.manifest);
    if (manifest === null) return;
    const { contributionOf, SecureSum } = await import("./secure_sum"); // only now: most phones need none of it
    const { assignment: id, round, seed } = assignment;
    const { model } = manifest;
    const sum = new SecureSum({
      assignment: id,
      device: this.identity.device,
      terms: masking.terms,
      vector: async (members) => {
        await this.budget.charge(assignment, privacy, spooled.offer.sha256);
        const version = readVersion(await this.part(manifest.parameters.sha256), model);
        return contributionOf({ model, scope, masking, members, seed: round }, spooled, version, seed);
      },
      link: this.link,
      store: this.store,
      shelf: this.store.sumOfUpdates,
      situation: this.situation,
      tellWait: (sumWait) => this.situation.replace({ sumWait }),
      isOffline: () => this.isOffline(),
      chunkBytes: CHUNK_BYTES,
    });
    try {
      const ended = await sum.run();
      if (ended === null) return;
      const why = ended.reason?.sentence ?? "the secure sum ended without the update";
      if (ended.to_do === "over") await this.finish(assignment, "dropped", why);
      else await this.finish(assignment, "accepted", "the update is in a secure sum, in which nobody can read it");
    } catch (error) {
      if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
      await this.finish(assignment, "dropped", error.message);
    }
  }

  /**
   * Hold the version: its parts are downloaded and verified; null where `stop` said so before. Other files are removed,
   * except those of `also`.
   */
  private async fetch(
    signed: SignedManifest,
    stop: () => boolean = () => this.isOffline(),
    also: readonly BlobRef[] = [],
  ): Promise<Manifest | null> {
    const manifest = verifyManifest(signed, ...this.trusted());
    const parts = partsOf(manifest);
    if (!(await this.download(parts, [...parts, ...also], stop))) return null;
    await this.store.put("model", signed);
    if ((await this.store.get("forms"))?.version !== manifest.version) await this.forgetForms();
    this.situation.replace({ version: manifest.version, model: manifest.model, takes: takesOf(manifest) });
    await this.look();
    return manifest;
  }

  /** Have all `parts`, and of other files only those to `keep`; false where `stop` said so before. */
  private async download(parts: readonly BlobRef[], keep: readonly BlobRef[], stop: () => boolean): Promise<boolean> {
    const form = (await this.store.get("forms"))?.graph ?? null; // until another version is held
    const kept = new Set([...keep, ...(form === null ? [] : [form])].map(({ sha256 }) => sha256));
    for (const part of parts) {
      if (stop()) return false;
      if ((await this.store.blob(part.sha256)) !== null) continue;
      await this.store.keepBlob(part.sha256, await this.link.download(part), kept);
    }
    return true;
  }

  private trusted(): Uint8Array[] {
    return trusted(this.identity.platformKeys, Date.now() / 1000);
  }

  private async part(sha256: string): Promise<Uint8Array> {
    const found = await this.store.blob(sha256);
    if (found === null)
      throw new CodedError("bundle.missing", "a part of the version was removed; it is fetched again");
    return found;
  }

  private async failed(action: Exclude<Action, { do: "rest" }>, error: unknown): Promise<void> {
    if (error instanceof Refused && error.isRevoked) {
      this.situation.replace({ ending: reasonOf(error) });
    } else if (action.do === "tell-peers" && (isRetryable(error) || error instanceof Refused)) {
      this.failures += 1; // a round in hand goes on meanwhile
      this.tellNotBefore = nowS() + delayS(this.failures, Math.max(1, this.checkInS));
    } else if (isRetryable(error) || isFetchedAnew(error)) {
      await this.waitOut();
    } else if (action.do === "fetch") {
      console.warn(`the platform's newest version is not usable: ${(error as Error).message}`);
      this.refused = action.champion.manifest;
    } else if (action.do === "take-forms") {
      console.warn(`no smaller form of the model is used: ${(error as Error).message}`);
      this.badForms = action.forms.manifest;
    } else if (action.do === "personalise" || action.do === "tell-personal") {
      await this.waitOut();
    } else if (action.do === "learn-alone" || action.do === "tell-peers") {
      await this.giveUpPeers(error);
    } else {
      await this.release(action.assignment, error);
    }
  }

  /** Give the assignment back, so that the platform need not wait for it. */
  private async release(assignment: Assignment, error: unknown): Promise<void> {
    const reason = reasonOf(error);
    if (reason.code === OUT_OF_BUDGET) this.situation.replace({ budgetWait: reason });
    console.warn(`the assignment is given back: ${reason.sentence} [${reason.code}]`);
    try {
      await this.link.call("release-assignment", { assignment: assignment.assignment, reason }, NOTHING);
    } catch (failure) {
      if (failure instanceof Refused && failure.isRevoked) {
        this.situation.replace({ ending: reasonOf(failure) });
        return;
      }
      if (isRetryable(failure)) {
        await this.waitOut();
        return;
      }
    }
    await this.finish(assignment, "released", reason.sentence);
  }

  private async finish(
    { assignment, federation, round, plan }: Assignment,
    outcome: Finished["outcome"],
    sentence: string,
    counted: { isUncounted?: boolean; toldNothing?: boolean } = {},
  ): Promise<void> {
    const privacy = privacyNamed(plan);
    await this.store.finish({ assignment, federation, round, at: Date.now(), outcome, sentence, privacy }, counted);
    this.situation.replace({ progress: null });
    await this.look();
  }

  private async waitOut(): Promise<void> {
    this.failures += 1;
    const until = nowS() + delayS(this.failures, Math.max(1, this.checkInS));
    for (let left = until - nowS(); left > 0 && this.situation.now.ending === null; left = until - nowS()) {
      await this.situation.wait(this.situation.now.edition, left);
    }
  }

  private halt(assignment: Assignment, finishingS: number, uploadS: number): Halt {
    if (this.mustPause(assignment)) return "pause";
    const { closesAt } = this.situation.now;
    if (closesAt === null) return null;
    const marginS = Math.min(LONGEST_MARGIN_S, 0.1 * assignment.remaining_s) + 2 * (finishingS + uploadS);
    return closesAt - nowS() < marginS ? "enough" : null;
  }

  private mustPause({ assignment }: Assignment): boolean {
    const { blockers, directive, ending } = this.situation.now;
    const isTaken = directive !== null && directive.assignment?.assignment !== assignment;
    return ending !== null || blockers.length > 0 || isTaken || this.isCalled();
  }

  /** Whether there is something to do at once for peers that there was not when training began, or to try again. */
  private isCalled(): boolean {
    if (this.tellNotBefore > 0 && nowS() >= this.tellNotBefore) return true;
    return this.callsNow().some((call) => !this.calls.includes(call));
  }

  private callsNow(): readonly string[] {
    const { directive } = this.situation.now;
    return this.member === null || directive === null ? [] : callsOf(directive);
  }

  private isHeldBack(): boolean {
    const { blockers, ending } = this.situation.now;
    return ending !== null || blockers.length > 0;
  }

  private isOffline(): boolean {
    const { blockers, ending } = this.situation.now;
    return ending !== null || blocksNetwork(blockers);
  }

  private report({ assignment }: Assignment, stage: Progress["stage"]): void {
    const { progress: last } = this.situation.now;
    const [done, total] = [last?.steps_done ?? 0, last?.steps_total ?? 0];
    this.reportedAt = nowS();
    this.situation.replace({ progress: { assignment, stage, steps_done: done, steps_total: total } });
  }

  private reportTuning(done: number, total: number): void {
    if (nowS() - this.reportedAt < PROGRESS_S) return;
    this.reportedAt = nowS();
    this.situation.replace({ tuning: { done, total } });
  }

  /** Not every step of hundreds a second. */
  private reportSteps({ assignment }: Assignment, done: number, total: number): void {
    if (done < total && nowS() - this.reportedAt < PROGRESS_S) return;
    this.reportedAt = nowS();
    this.situation.replace({ progress: { assignment, stage: "training", steps_done: done, steps_total: total } });
  }
}

/** What `predictor`, which is closed then, gives of `version`. */
async function outputsOf(predictor: Predictor, version: Tensors, xs: readonly Float32Array[]): Promise<number[][]> {
  try {
    return await predictor.outputs(version, xs);
  } finally {
    await predictor.close();
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

const NO_STEPS = { steps_done: 0, steps_total: 0 } as const;

/** Whether the plan hides in a sum what the device measures; one that cannot be read is taken for such a plan. */
function isMasked(plan: unknown): boolean {
  try {
    return parseDevicePlan(plan).privacy.masking !== null;
  } catch {
    return true; // training says so, and gives it back
  }
}

const unfitOf = ({ digest }: StandingPlan, { version }: Manifest): string => `${digest} ${version}`;

/** What is told to the platform at once when it changes; counts wait for the next check-in. */
function reportOf({ conditions, blockers, progress, version }: Now): string {
  return JSON.stringify([conditions, blockers.map(({ code }) => code), progress?.assignment, progress?.stage, version]);
}

const isFetchedAnew = (error: unknown): boolean =>
  error instanceof CodedError && (error.code === "bundle.wrong_hash" || error.code === "bundle.missing");

/** What the browser lets this site still store; null where it does not tell. */
async function freeBytes(): Promise<number | null> {
  const estimate = await navigator.storage?.estimate?.();
  return estimate?.quota === undefined ? null : estimate.quota - (estimate.usage ?? 0);
}
