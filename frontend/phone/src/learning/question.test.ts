import { expect, test } from "vitest";
import { goldenJson } from "../testing/golden";
import { fromBase64 } from "../wire/bytes";
import type { CodedError } from "../wire/errors";
import { answerOf, scaleOf } from "./answers";
import { numberOf } from "./noise";
import { type AgreedQuestions, checkAgreed, type OwnFacts, parseQuestion, type Subject } from "./question";

const VECTORS = goldenJson("questions.json");
const { members: MEMBERS } = VECTORS;
const KEY = numberOf(fromBase64(VECTORS.key));
const FACTS: OwnFacts[] = VECTORS.facts.map(
  // biome-ignore lint/suspicious/noExplicitAny: a document of the contract
  ({ class_counts, quantities, properties, is_failing, is_waiting }: any): OwnFacts => ({
    classCounts: class_counts,
    quantities,
    properties,
    isFailing: is_failing,
    isWaiting: is_waiting,
  }),
);

function code(fails: () => unknown): string {
  try {
    fails();
  } catch (error) {
    return (error as CodedError).code;
  }
  return "no error";
}

test("what is counted, and the vector that leaves, are those of Python", () => {
  for (const { question: raw, subjects, terms, unit, answers } of VECTORS.questions) {
    const question = parseQuestion(raw);
    expect([...question.subjects].sort()).toEqual(subjects);
    expect(question.terms).toEqual(terms);
    expect(scaleOf(question, MEMBERS).unit).toBe(unit);
    for (const [at, { counted, numbers, tail }] of answers.entries()) {
      const counts = question.counted(FACTS[at] as OwnFacts);
      expect(counts).toEqual(counted);
      const vector = answerOf(question, MEMBERS, counts, KEY);
      expect([...vector.numbers]).toEqual(numbers);
      expect([...vector.tail].map(Number)).toEqual(tail);
    }
  }
});

test("a question that Python refuses is refused", () => {
  for (const { question, code: expected } of VECTORS.refused)
    expect(code(() => parseQuestion(question))).toBe(expected);
});

test("no device counts more than a question takes of one", () => {
  const question = parseQuestion({ count: { kind: "classes", classes: 2, most: 5 } });
  expect(code(() => answerOf(question, MEMBERS, [3, 3], KEY))).toBe("update.out_of_range");
  expect(code(() => answerOf(question, MEMBERS, [-1, 3], KEY))).toBe("update.out_of_range");
  expect(code(() => answerOf(question, MEMBERS, [1], KEY))).toBe("update.out_of_range");
});

test("a sum that would not fit, or hides nobody, is refused", () => {
  const quiet = { count: { kind: "classes", classes: 2 }, noise_multiplier: 1e-7, min_devices: 3 };
  expect(code(() => answerOf(parseQuestion(quiet), 2500, [0, 0], KEY))).toBe("secure_sum.too_few");
  const honest = parseQuestion({ ...quiet, corrupted: 0 });
  expect(code(() => answerOf(honest, 2500, [0, 0], KEY))).toBe("secure_sum.too_few_bits");
});

const ALL: readonly Subject[] = ["classes", "problems", "speed"];
test.each<[string, object, Partial<AgreedQuestions>, string]>([
  ["as agreed", {}, {}, "no error"],
  ["a subject that is not agreed to", {}, { answer: ["classes"] }, "question.not_agreed"],
  ["nothing is agreed to", {}, { answer: [] }, "question.not_agreed"],
  ["an exact sum", { noise_multiplier: null }, {}, "question.not_agreed"],
  ["an exact sum that is agreed to", { noise_multiplier: null }, { withoutNoise: true }, "no error"],
  ["too few devices", { min_devices: 9 }, {}, "question.not_agreed"],
])("the owner's word holds: %s", (_, changed, agreed, expected) => {
  const count = { kind: "histogram", of: "train_step_s", edges: [1] };
  const question = parseQuestion({ count, among: "failing", noise_multiplier: 1, ...changed });
  const word = { answer: ALL, withoutNoise: false, minDevices: 10, ...agreed };
  expect(code(() => checkAgreed(question, word))).toBe(expected);
});
