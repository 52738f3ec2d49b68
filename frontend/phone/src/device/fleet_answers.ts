/**
 * The device's answers to questions of its fleet: what the owner agrees to is counted here, and leaves as a part of a
 * sum. A mirror of `coterie_agent.answering`; its next action follows from the store and the situation.
 */
import { answerOf } from "../learning/answers";
import { drawnKey } from "../learning/noise";
import { type AgreedQuestions, checkAgreed, type OwnFacts, parseQuestion, type Question } from "../learning/question";
import type { Vector } from "../learning/secure_sum/vector";
import type { Asked, OfferToAnswer } from "../wire/messages";
import type { Budget } from "./budget";
import { isRetryable, Refused, reasonOf } from "./failure";
import type { Answered } from "./kept";
import type { Link } from "./link";
import { Retrying } from "./retrying";
import type { Now, Situation } from "./situation";
import type { Store } from "./store";

/** What the owner lets the device be counted in where nothing else is said: as the agent's settings. */
export const QUESTIONS_DEFAULT: AgreedQuestions = { answer: [], withoutNoise: false, minDevices: 10 };

/** As the platform is told, so that the device is asked nothing else; null: it is to ask nothing. */
export function offerOf({ answer, withoutNoise, minDevices }: AgreedQuestions): OfferToAnswer | null {
  if (answer.length === 0) return null;
  return { subjects: [...answer].sort(), without_noise: withoutNoise, min_devices: minDevices };
}

type Kept = Pick<
  Store,
  | "get"
  | "isAnswered"
  | "beginAnswer"
  | "finishAnswer"
  | "sumOfAnswers"
  | "signing"
  | "logLength"
  | "logHead"
  | "logEnd"
  | "appendLog"
  | "logged"
>;

export interface Answering {
  readonly device: string;
  readonly store: Kept;
  readonly link: Link;
  readonly budget: Budget;
  readonly situation: Situation;
  readonly isOffline: () => boolean;
  readonly facts: () => Promise<OwnFacts>;
  /** Between two tries, at most. */
  readonly longestS: () => number;
  readonly chunkBytes: number;
}

export class FleetAnswers {
  private readonly retrying: Retrying;

  constructor(private readonly part: Answering) {
    this.retrying = new Retrying(part.link, part.situation, part.longestS);
  }

  /** Run until the credential ends. */
  async run(): Promise<void> {
    const { situation } = this.part;
    while (situation.now.ending === null) {
      const { now } = situation;
      const asked = await this.due(now);
      if (asked === null) await situation.wait(now.edition, null);
      else await this.attempt(asked);
    }
  }

  private async due({ directive }: Now): Promise<Asked | null> {
    const asked = directive?.question ?? null;
    if (asked === null || this.part.isOffline() || (await this.part.store.isAnswered(asked.answer))) return null;
    return asked;
  }

  private async attempt(asked: Asked): Promise<void> {
    try {
      await this.answer(asked);
      this.retrying.succeed();
    } catch (error) {
      if (!(await this.retrying.dealsWith(error))) await this.decline(asked, error);
    }
  }

  /** Throws what the owner does not agree to, what the budget does not pay for, and what `SecureSum.run` throws. */
  private async answer(asked: Asked): Promise<void> {
    const { device, store, link, budget, situation, isOffline, chunkBytes } = this.part;
    const question = parseQuestion(asked.question);
    checkAgreed(question, (await store.get("owner"))?.questions ?? QUESTIONS_DEFAULT);
    if (question.noiseMultiplier !== null) await budget.checkNoise(question.noiseMultiplier);
    await store.beginAnswer(asked.answer);
    const { SecureSum } = await import("./secure_sum"); // only now: most phones need none of it
    const sum = new SecureSum({
      assignment: asked.answer,
      device,
      terms: question.terms,
      vector: (members) => this.vector(asked, question, members),
      link,
      store,
      shelf: store.sumOfAnswers,
      situation,
      tellWait: (questionWait) => situation.replace({ questionWait }),
      isOffline,
      chunkBytes,
    });
    try {
      const ended = await sum.run();
      if (ended === null) return;
      const isCounted = ended.to_do === "counted";
      const sentence = isCounted
        ? "the device is counted in a sum, in which nobody can read it"
        : (ended.reason?.sentence ?? "the sum ended without the device");
      await this.finish(asked, isCounted ? "answered" : "uncounted", sentence);
    } catch (error) {
      if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
      await this.finish(asked, "uncounted", error.message);
    }
  }

  /** What the device adds to the sum of so many; it is charged before that can leave. */
  private async vector({ answer, federation }: Asked, question: Question, members: number): Promise<Vector> {
    const { budget, facts } = this.part;
    if (question.noiseMultiplier !== null) await budget.chargeNoise(answer, federation, question.noiseMultiplier);
    return answerOf(question, members, question.counted(await facts()), drawnKey());
  }

  /** Say that the device does not answer, and why, so that nobody waits for it. */
  private async decline(asked: Asked, error: unknown): Promise<void> {
    if (await this.retrying.giveBack(asked.answer, error)) {
      await this.finish(asked, "declined", reasonOf(error).sentence);
    }
  }

  private async finish(asked: Asked, outcome: Answered["outcome"], sentence: string): Promise<void> {
    await this.part.store.finishAnswer({ ...asked, outcome, sentence, at: Date.now() });
    this.part.situation.replace({ questionWait: null });
  }
}
