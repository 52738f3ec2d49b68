/** The running device: it checks in, does the work and answers questions, and tells its owner how it is. */
import { OWN_KINDS, requirementsOf } from "../learning/plan";
import type { OwnFacts } from "../learning/question";
import { classesOf, type ModelSpec } from "../wire/bundle";
import { type Capabilities, type Conditions, ExportPage, ForgetNews, type Reason } from "../wire/messages";
import { Between } from "./between";
import { Budget } from "./budget";
import { Consent } from "./consent";
import { Contact } from "./contact";
import { FleetAnswers } from "./fleet_answers";
import { HeldModel } from "./held_model";
import type { Identity, KnownForms } from "./kept";
import { CHUNK_BYTES, Link, NOTHING } from "./link";
import type { Parts } from "./parts";
import type { PeersStatus } from "./peers/member";
import { judge, judgeData, judgeSpace, OWNER_DEFAULT } from "./policy";
import { type Answering, Questions } from "./questions";
import { Situation } from "./situation";
import { Sources } from "./sources";
import { freeBytes } from "./space";
import type { Store } from "./store";
import { Trust } from "./trust";
import { Worker } from "./worker";

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
  private readonly link: Link;
  private readonly model: HeldModel;
  private readonly contact: Contact;
  private readonly between: Between;
  private readonly worker: Worker;
  private readonly fleetAnswers: FleetAnswers;
  private conditions: Conditions | null = null;
  private heldOnce: ReturnType<Store["held"]> | null = null;
  private heldFor: ModelSpec | null = null;

  constructor(
    private readonly identity: Identity,
    private readonly store: Store,
    private readonly capabilities: Capabilities,
  ) {
    const { situation } = this;
    const { device } = identity;
    const link = new Link(identity.credential, (what, bytes, body) => store.recordSent(what, bytes, body));
    const trust = new Trust(identity, store);
    const model = new HeldModel(store, link, situation, trust);
    const held = (): ReturnType<Store["held"]> => this.held();
    const look = (): Promise<void> => this.look();
    const longestS = (): number => this.contact.longestS;
    const budget = new Budget(store);
    const consent = new Consent(store);
    const questions = new Questions(store, held, () => model.answering());
    const common: Parts = { store, link, situation, trust, model, budget, consent, questions, held, look, longestS };
    this.link = link;
    this.model = model;
    this.budget = budget;
    this.consent = consent;
    this.questions = questions;
    this.sources = new Sources(store, held, () => model.answering());
    this.contact = new Contact({ ...common, capabilities });
    this.between = new Between({ ...common, ask: () => this.contact.ask() });
    this.worker = new Worker({ ...common, device, between: this.between });
    this.fleetAnswers = new FleetAnswers({
      ...common,
      device,
      isOffline: () => situation.isOffline(),
      facts: () => this.facts(),
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
    await this.model.load();
    await this.look();
    await Promise.all([this.contact.run(), this.worker.run(), this.fleetAnswers.run()]);
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
    this.situation.judged(conditions, [
      ...paused,
      ...judge(plan, owner?.policy ?? OWNER_DEFAULT, conditions, new Date().getHours()),
      ...judgeData(held, this.situation.now.model),
      ...judgeSpace(await freeBytes()),
    ]);
  }

  /** The owner's samples changed. */
  async samplesChanged(): Promise<void> {
    this.heldOnce = null;
    await this.look();
    this.situation.wake();
  }

  /** What is known of the samples; read once, until they or the model change. */
  held(): ReturnType<Store["held"]> {
    const { model } = this.situation.now;
    if (model !== this.heldFor) [this.heldOnce, this.heldFor] = [null, model];
    this.heldOnce ??= this.store.held();
    return this.heldOnce;
  }

  /** How many classes the model tells apart; 0: it tells none apart, or there is none. */
  classes(): number {
    const { model } = this.situation.now;
    return model === null ? 0 : classesOf(model);
  }

  /** The model that answers; null: there is none. */
  answering(): Promise<Answering | null> {
    return this.model.answering();
  }

  /** How quick each form of the version is that the device holds; null: it knows no smaller one. */
  knownForms(): Promise<KnownForms | null> {
    return this.model.knownForms();
  }

  /** What the device does with its peers; null: its plan has it do nothing with them. */
  peers(): Promise<PeersStatus | null> {
    return this.between.status();
  }

  /** Whether rounds train the model of its own, so that updates tell what that learned. */
  sendsOwn(): Promise<boolean> {
    return this.between.sendsOwn();
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
        samples: held.samples - held.aside,
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
}
