import type * as v from "valibot";
import { expect, test } from "vitest";
import type { AgreedQuestions, OwnFacts } from "../learning/question";
import { type Fields, Kept, Platform } from "../testing/sums";
import { checked, type Directive } from "../wire/messages";
import type { Budget } from "./budget";
import type { OwnerChoices } from "./choices";
import { FleetAnswers, offerOf, QUESTIONS_DEFAULT } from "./fleet_answers";
import type { Answered } from "./kept";
import type { Link } from "./link";
import { Situation } from "./situation";

const NAMES = ["one", "two", "three"];
const QUESTION = {
  count: { kind: "classes", classes: 2, most: 5 },
  noise_multiplier: 1,
  min_devices: 3,
  corrupted: 0,
  dropped: 0.25,
};
const AGREED: AgreedQuestions = { answer: ["classes"], withoutNoise: false, minDevices: 3 };
const FACTS: OwnFacts = { classCounts: [3, 1], quantities: {}, properties: {}, isFailing: false, isWaiting: false };

/** What is kept of questions beside what is kept of sums. */
class KeptAnswers extends Kept {
  readonly answers: Answered[] = [];
  readonly sumOfAnswers = this;

  constructor(
    private readonly questions: AgreedQuestions | undefined,
    private readonly ended: () => void,
  ) {
    super();
  }

  async get(): Promise<OwnerChoices> {
    return { ...(this.questions === undefined ? {} : { questions: this.questions }) } as OwnerChoices;
  }

  async isAnswered(answer: string): Promise<boolean> {
    return this.answers.some((one) => one.answer === answer);
  }

  async beginAnswer(): Promise<void> {}

  async finishAnswer(answered: Answered): Promise<void> {
    this.answers.push(answered);
    this.ended();
  }
}

interface Asked {
  readonly question?: object;
  readonly agreed?: AgreedQuestions;
  /** What the budget refuses with. */
  readonly refusal?: Error;
}

/** How the question ended for the device, what it sent, and what its budget was charged. */
async function answered(device: string, platform: Platform, { question = QUESTION, agreed, refusal }: Asked) {
  const situation = new Situation();
  const kept = new KeptAnswers(agreed, () => situation.replace({ ending: { code: "test.over", sentence: "" } }));
  const [sent, charged] = [[] as [string, Fields][], [] as [string, string, number][]];
  const link = {
    call: async (name: string, fields: Fields, reply: v.GenericSchema) => {
      sent.push([name, fields]);
      return checked(reply, platform.answer(name, device, fields), "wire.malformed", name);
    },
    upload: async (_what: string, _name: string, _offset: number, chunk: Uint8Array) => platform.upload(device, chunk),
  };
  const budget = {
    checkNoise: async () => {
      if (refusal !== undefined) throw refusal;
    },
    chargeNoise: async (...charge: [string, string, number]) => void charged.push(charge),
  };
  situation.direct({
    question: { answer: "a", federation: "digits", question },
    assignment: null,
  } as unknown as Directive);
  await new FleetAnswers({
    device,
    store: kept as never,
    link: link as unknown as Link,
    budget: budget as unknown as Budget,
    situation,
    isOffline: () => false,
    facts: async () => FACTS,
    longestS: () => 1,
    chunkBytes: 1 << 20,
  }).run();
  const [answer] = kept.answers;
  return { answer, sent, charged };
}

test("three phones are counted under noise that is charged before it leaves", async () => {
  const platform = new Platform();
  const ended = await Promise.all(NAMES.map((name) => answered(name, platform, { agreed: AGREED })));
  for (const { answer, charged } of ended) {
    expect(answer).toMatchObject({ outcome: "answered", federation: "digits", question: QUESTION });
    expect(charged).toEqual([["a", "digits", 1]]);
  }
  expect(platform.uploads.size).toBe(3);
  expect(platform.revealed.size).toBe(3);
}, 20_000);

test.each<[string, Asked, string]>([
  ["an owner who has agreed to nothing", {}, "question.not_agreed"],
  ["an owner who has agreed to something else", { agreed: { ...AGREED, answer: ["speed"] } }, "question.not_agreed"],
  ["a sum without noise", { agreed: AGREED, question: { ...QUESTION, noise_multiplier: null } }, "question.not_agreed"],
  ["a question that is none", { agreed: AGREED, question: { count: "all" } }, "question.invalid"],
  ["a budget that does not pay", { agreed: AGREED, refusal: new Error("spent") }, "agent.failed"],
])("%s: it declines with the reason, and nothing of it leaves", async (_, asked, code) => {
  const platform = new Platform();
  const { answer, sent, charged } = await answered("one", platform, asked);
  expect(answer?.outcome).toBe("declined");
  expect(sent.map(([name]) => name)).toEqual(["release-assignment"]);
  expect(sent[0]?.[1]).toMatchObject({ assignment: "a", reason: { code, sentence: answer?.sentence } });
  expect(charged).toEqual([]);
});

test("the platform is told what the owner agrees to, and nothing where that is nothing", () => {
  expect(offerOf(QUESTIONS_DEFAULT)).toBeNull();
  expect(offerOf({ answer: ["speed", "classes"], withoutNoise: true, minDevices: 20 })).toEqual({
    subjects: ["classes", "speed"],
    without_noise: true,
    min_devices: 20,
  });
});
