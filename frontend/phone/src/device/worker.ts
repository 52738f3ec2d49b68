/** Does the work, one action at a time, as the situation and the store have it: a tab can be killed at any moment.
 * A mirror of `coterie_agent.worker`. */
import { readVersion } from "../learning/client_round";
import type { Scope } from "../learning/local/interface";
import { type DevicePlan, parseDevicePlan, privacyNamed } from "../learning/plan";
import type { Privacy } from "../learning/privacy";
import type { Masking } from "../learning/privacy/masking";
import { partsOfTeacher, type Teacher, verifyTeacher } from "../learning/teacher";
import { type BlobRef, type Manifest, partsOf } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import type { Assignment, Progress, SignedManifest } from "../wire/messages";
import { digestOf } from "../wire/variants";
import type { Between } from "./between";
import { OUT_OF_BUDGET } from "./budget";
import { type Action, decide } from "./decide";
import { isFetchedAnew, isRetryable, Refused, reasonOf } from "./failure";
import type { Finished, Spooled } from "./kept";
import { CHUNK_BYTES, deliver } from "./link";
import type { Parts } from "./parts";
import { blocksNetwork } from "./policy";
import { Retrying } from "./retrying";
import { type Now, nowS } from "./situation";
import { freeBytes } from "./space";
import { StillNamed } from "./still_named";
import { Teaching } from "./teaching";
import { type Halt, train } from "./training";

type Work = Exclude<Action, { do: "rest" }>;

/** The round has ended without the update. */
const CLOSED = "rounds.assignment_closed";
const LONGEST_MARGIN_S = 2;
/** Between two looks at whether training on new samples outside of rounds is due by time. */
const LOOK_EVERY_S = 5;

type Working = Omit<Parts, "questions"> & { readonly device: string; readonly between: Between };

export class Worker {
  private refused: string | null = null;
  /** A list of smaller forms that cannot be used; it is not tried again. */
  private badForms: string | null = null;
  private readonly stillNamed = new StillNamed();
  private readonly retrying: Retrying;

  constructor(private readonly of: Working) {
    this.retrying = new Retrying(of.link, of.situation, of.longestS);
  }

  /** Run until the situation's `ending` is set. */
  async run(): Promise<void> {
    const { situation, between } = this.of;
    while (situation.now.ending === null) {
      const { now } = situation;
      const action = await this.next(now);
      if (action.do === "rest") {
        await this.reportWaiting();
        await situation.wait(now.edition, between.hasPart ? LOOK_EVERY_S : null);
        continue;
      }
      try {
        await this.perform(action);
        this.retrying.succeed();
      } catch (error) {
        await this.failed(action, error);
      }
    }
  }

  private async next(now: Now): Promise<Action> {
    const { store, between } = this.of;
    const [inHand, spooled] = await Promise.all([store.get("assignment"), store.get("spooled")]);
    let assigned = now.directive?.assignment ?? null;
    let stillNamed: Assignment | null = null;
    if (now.directive !== null && assigned !== null && (await store.isFinished(assigned.assignment))) {
      stillNamed = this.stillNamed.count(now.directive, assigned);
      assigned = null;
    }
    let champion = now.directive?.manifest ?? null;
    const held = await store.get("model");
    const isHeld = now.version !== null && champion?.manifest === held?.manifest;
    if (champion?.manifest === this.refused || isHeld) champion = null;
    return decide({
      inHand,
      spooled: spooled !== null,
      answered: now.directive !== null,
      assigned,
      stillNamed,
      champion,
      forms: this.newForms(now),
      blockers: now.blockers,
      between: inHand !== null ? await between.due(true) : assigned === null ? await between.due(false) : null,
    });
  }

  /** A list of smaller forms that the device does not know, and has not refused. */
  private newForms({ directive, version, forms }: Now): SignedManifest | null {
    const listed = directive?.variants ?? null;
    if (listed === null || version === null || listed.manifest === this.badForms) return null;
    return digestOf(listed) === forms ? null : listed;
  }

  private async perform(action: Work): Promise<void> {
    const { store, model, between, look } = this.of;
    switch (action.do) {
      case "accept":
        await store.accept(action.assignment, isMasked(action.assignment.plan));
        this.report(action.assignment, "accepted");
        await look();
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
      case "give-back":
        await this.retrying.giveBack(action.assignment.assignment, this.stillNamed.givenBack());
        break;
      case "fetch":
        await this.fetch(action.champion);
        break;
      case "take-forms":
        await model.takeForms(action.forms, this.isOffline);
        break;
      case "personalise":
        await between.personalise();
        break;
      case "tell-personal":
        await between.tellPersonal();
        break;
      case "learn-alone":
      case "tell-peers":
        await between.takePart(action.do);
    }
  }

  private async train(assignment: Assignment): Promise<void> {
    const { store, situation, model, between, consent, budget, held } = this.of;
    const plan = parseDevicePlan(assignment.plan);
    await consent.check(assignment.federation, assignment.plan);
    await budget.check(assignment, plan.privacy);
    situation.replace({ budgetWait: null });
    between.noteCalls();
    const stop = (): boolean => this.mustPause(assignment);
    const teacher = this.teacherOf(assignment, plan);
    const manifest = await this.fetch(assignment.manifest, stop, teacher === null ? [] : partsOfTeacher(teacher));
    if (manifest === null) return;
    this.report(assignment, "training");
    const uploadS = (await store.get("upload_s")) ?? 0;
    const isDone = await train(assignment, manifest, {
      store,
      part: model.part,
      halt: (finishingS) => this.halt(assignment, finishingS, uploadS),
      report: (done, total) => this.reportSteps(assignment, done, total),
      teaching: teacher === null ? null : this.teaching(teacher, manifest, stop),
      counts: (await held()).counts,
    });
    this.report(assignment, isDone ? "uploading" : "waiting");
  }

  /** The teacher that the plan asks for. Throws CodedError `bundle.*` or `data.no_teacher`. */
  private teacherOf({ teacher }: Assignment, { local }: DevicePlan): Teacher | null {
    if (!local.needsTeacher) return null;
    if (teacher === null) {
      throw new CodedError("data.no_teacher", "the plan learns from the cloud model, and the platform named none");
    }
    return verifyTeacher(teacher, ...this.of.trust.trusted());
  }

  private teaching(teacher: Teacher, manifest: Manifest, stop: () => boolean): Teaching {
    const { store, model } = this.of;
    const [own, its] = [partsOf(manifest), partsOfTeacher(teacher)];
    return new Teaching({
      teacher,
      store,
      part: model.part,
      fetch: () => model.download(its, [...own, ...its], stop),
      ownParts: new Set(own.map(({ sha256 }) => sha256)),
      free: freeBytes,
    });
  }

  private async upload(assignment: Assignment): Promise<void> {
    const { store, link, situation, budget } = this.of;
    const spooled = await store.get("spooled");
    if (spooled === null) return; // the disk has damaged it since `next` saw it
    this.report(assignment, "uploading");
    const { privacy, local } = parseDevicePlan(assignment.plan);
    if (privacy.masking !== null) {
      await this.sum(assignment, spooled, { privacy, masking: privacy.masking, scope: local.scope });
      return;
    }
    await budget.charge(assignment, privacy, spooled.offer.sha256);
    const started = nowS();
    const stop = (): boolean => blocksNetwork(situation.now.blockers);
    try {
      const outcome = await deliver(link, "update", spooled.offer, spooled.payload, { chunkBytes: CHUNK_BYTES, stop });
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
    await store.put("upload_s", nowS() - started);
    await this.finish(assignment, "accepted", `update of ${spooled.offer.size_bytes} bytes accepted`);
  }

  /** Bring the update, and what was measured, into a sum in which nobody can read it. */
  private async sum(
    assignment: Assignment,
    spooled: Spooled,
    { privacy, masking, scope }: { privacy: Privacy; masking: Masking; scope: Scope },
  ): Promise<void> {
    const { device, store, link, situation, model, budget } = this.of;
    const manifest = await this.fetch(assignment.manifest);
    if (manifest === null) return;
    const { contributionOf, SecureSum } = await import("./secure_sum"); // only now: most phones need none of it
    const { assignment: id, round, seed } = assignment;
    const spec = manifest.model;
    const sum = new SecureSum({
      assignment: id,
      device,
      terms: masking.terms,
      vector: async (members) => {
        await budget.charge(assignment, privacy, spooled.offer.sha256);
        const version = readVersion(await model.part(manifest.parameters.sha256), spec);
        return contributionOf({ model: spec, scope, masking, members, seed: round }, spooled, version, seed);
      },
      link,
      store,
      shelf: store.sumOfUpdates,
      situation,
      tellWait: (sumWait) => situation.replace({ sumWait }),
      isOffline: this.isOffline,
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

  /** Hold the version, and keep the files of `also` beside it; null where `stop` said so before it was there. */
  private async fetch(
    signed: SignedManifest,
    stop: () => boolean = this.isOffline,
    also: readonly BlobRef[] = [],
  ): Promise<Manifest | null> {
    const manifest = await this.of.model.fetch(signed, stop, also);
    if (manifest !== null) await this.of.look();
    return manifest;
  }

  private async failed(action: Work, error: unknown): Promise<void> {
    const { between } = this.of;
    const isRefused = error instanceof Refused;
    if (action.do === "tell-peers" && !(isRefused && error.isRevoked) && (isRefused || isRetryable(error))) {
      between.postpone(this.retrying.nextDelayS());
    } else if (await this.retrying.dealsWith(error)) {
      return;
    } else if (isFetchedAnew(error)) {
      await this.retrying.waitOut();
    } else if (action.do === "fetch") {
      console.warn(`the platform's newest version is not usable: ${(error as Error).message}`);
      this.refused = action.champion.manifest;
    } else if (action.do === "take-forms") {
      console.warn(`no smaller form of the model is used: ${(error as Error).message}`);
      this.badForms = action.forms.manifest;
    } else if (action.do === "personalise" || action.do === "tell-personal") {
      await this.retrying.waitOut();
    } else if (action.do === "learn-alone" || action.do === "tell-peers") {
      await between.giveUp(error);
    } else {
      await this.release(action.assignment, error);
    }
  }

  /** Give the assignment back, so that the platform need not wait for it. */
  private async release(assignment: Assignment, error: unknown): Promise<void> {
    const reason = reasonOf(error);
    if (reason.code === OUT_OF_BUDGET) this.of.situation.replace({ budgetWait: reason });
    console.warn(`the assignment is given back: ${reason.sentence} [${reason.code}]`);
    if (await this.retrying.giveBack(assignment.assignment, error))
      await this.finish(assignment, "released", reason.sentence);
  }

  private async finish(
    { assignment, federation, round, plan }: Assignment,
    outcome: Finished["outcome"],
    sentence: string,
    counted: { isUncounted?: boolean; toldNothing?: boolean } = {},
  ): Promise<void> {
    const { store, situation, look } = this.of;
    const privacy = privacyNamed(plan);
    await store.finish({ assignment, federation, round, at: Date.now(), outcome, sentence, privacy }, counted);
    situation.replace({ progress: null });
    await look();
  }

  private halt(assignment: Assignment, finishingS: number, uploadS: number): Halt {
    if (this.mustPause(assignment)) return "pause";
    const { closesAt } = this.of.situation.now;
    if (closesAt === null) return null;
    const marginS = Math.min(LONGEST_MARGIN_S, 0.1 * assignment.remaining_s) + 2 * (finishingS + uploadS);
    return closesAt - nowS() < marginS ? "enough" : null;
  }

  private mustPause({ assignment }: Assignment): boolean {
    const { situation, between } = this.of;
    const { directive } = situation.now;
    const isTaken = directive !== null && directive.assignment?.assignment !== assignment;
    return situation.isHeldBack() || isTaken || between.isCalled();
  }

  private readonly isOffline = (): boolean => this.of.situation.isOffline();

  private async reportWaiting(): Promise<void> {
    const { store } = this.of;
    const [inHand, spooled] = await Promise.all([store.get("assignment"), store.get("spooled")]);
    if (inHand !== null) this.report(inHand, spooled === null ? "waiting" : "uploading");
  }

  private report({ assignment }: Assignment, stage: Progress["stage"]): void {
    const { situation } = this.of;
    const { progress: last } = situation.now;
    const [done, total] = [last?.steps_done ?? 0, last?.steps_total ?? 0];
    situation.replace({ progress: { assignment, stage, steps_done: done, steps_total: total } });
  }

  private reportSteps({ assignment }: Assignment, done: number, total: number): void {
    const progress = { assignment, stage: "training", steps_done: done, steps_total: total } as const;
    this.of.situation.step({ progress }, done === total);
  }
}

/** Whether the plan hides in a sum what the device measures; one that cannot be read is taken for such a plan. */
function isMasked(plan: unknown): boolean {
  try {
    return parseDevicePlan(plan).privacy.masking !== null;
  } catch {
    return true; // training says so, and gives it back
  }
}
