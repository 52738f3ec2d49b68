/** Questions to a fleet whose answers are sums, as one device counts for them: a mirror of `coterie_learning.question`. */
import * as v from "valibot";
import { CodedError } from "../wire/errors";
import { checked } from "../wire/messages";
import { MOST_MEMBERS } from "../wire/secure_sum";
import { within } from "./kinds";
import { type Terms, termsOf } from "./privacy/masking";

const MOST_CELLS = 4096;
const MOST_SAMPLES = 10_000;
const MOST_LETTERS = 100;
const NONE = "none";
const QUANTITIES = ["samples", "train_step_s", "upload_s", "temperature_c", "cores", "memory_bytes"] as const;
const PROPERTIES = ["machine", "agent", "charging", "network", "idle", "reason", "outcome"] as const;
export type Quantity = (typeof QUANTITIES)[number];
export type Property = (typeof PROPERTIES)[number];

/** What an owner agrees to be counted in, each by itself. */
export const SUBJECTS = ["classes", "conditions", "hardware", "problems", "samples", "speed"] as const;
export type Subject = (typeof SUBJECTS)[number];

/** By what is counted, what the owner must have agreed to. */
const SUBJECT_OF: Readonly<Record<Quantity | Property, Subject>> = {
  samples: "samples",
  train_step_s: "speed",
  upload_s: "speed",
  temperature_c: "conditions",
  cores: "hardware",
  memory_bytes: "hardware",
  machine: "hardware",
  agent: "hardware",
  charging: "conditions",
  network: "conditions",
  idle: "conditions",
  reason: "problems",
  outcome: "problems",
};

/** What a device knows of itself; it leaves as a count among others', if at all. */
export interface OwnFacts {
  /** Samples of class 0, 1, … */
  readonly classCounts: readonly number[];
  /** null, or left out: not known. */
  readonly quantities: Readonly<Partial<Record<Quantity, number | null>>>;
  readonly properties: Readonly<Partial<Record<Property, string>>>;
  readonly isFailing: boolean;
  readonly isWaiting: boolean;
}

/** What is counted, and what the sum promises to those who are counted; each device checks it. */
export interface Question {
  readonly terms: Terms;
  /** z: standard deviation of the noise on each cell at least, in sensitivities; null: no noise. */
  readonly noiseMultiplier: number | null;
  /** What the owner must have agreed to be asked about. */
  readonly subjects: readonly Subject[];
  readonly cells: number;
  /** The L1 norm of what a device counts is that at most. */
  readonly sensitivity: number;
  /** What a device adds to each cell. */
  counted(facts: OwnFacts): number[];
}

interface Count {
  readonly subject: Subject;
  readonly sensitivity: number;
  readonly cells: number;
  counted(facts: OwnFacts): number[];
}

const whole = (least: number, most: number) => v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const letters = (word: string): number => [...word].length;

const Classes = v.strictObject({
  kind: v.literal("classes"),
  classes: whole(1, MOST_CELLS),
  most: v.optional(whole(1, MOST_SAMPLES), 100),
});

const Histogram = v.strictObject({
  kind: v.literal("histogram"),
  of: v.picklist(QUANTITIES),
  edges: v.pipe(
    v.array(v.number()),
    v.minLength(1),
    v.maxLength(MOST_CELLS - 2),
    v.check((edges) => edges.every((edge, at) => at === 0 || (edges[at - 1] as number) < edge), "edges ascend"),
  ),
});

const Words = v.strictObject({
  kind: v.literal("words"),
  of: v.picklist(PROPERTIES),
  words: v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.check((word) => letters(word) >= 1 && letters(word) <= MOST_LETTERS, "1 to 100 letters"),
      ),
    ),
    v.minLength(1),
    v.maxLength(MOST_CELLS - 1),
    v.check((words) => new Set(words).size === words.length, "no word is there twice"),
  ),
});

const Asked = v.strictObject({
  count: v.variant("kind", [Classes, Histogram, Words]),
  among: v.optional(v.picklist(["all", "failing", "waiting"]), "all"),
  noise_multiplier: v.optional(v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(1e3))), null),
  min_devices: v.optional(whole(3, MOST_MEMBERS), 10),
  corrupted: v.optional(within(0, 0.45), 0.1),
  dropped: v.optional(within(0, 0.45), 0.2),
  adversary: v.optional(v.picklist(["curious", "split_view"]), "curious"),
  step_s: v.optional(within(1, 3600), 30),
});

/** The question that JSON stands for. Throws CodedError `question.invalid`. */
export function parseQuestion(raw: unknown): Question {
  const {
    count: counts,
    among,
    noise_multiplier: noiseMultiplier,
    ...given
  } = checked(Asked, raw, "question.invalid", "question");
  const count = countOf(counts);
  const isAmong = ({ isFailing, isWaiting }: OwnFacts): boolean =>
    ({ all: true, failing: isFailing, waiting: isWaiting })[among];
  return {
    terms: termsOf(given),
    noiseMultiplier,
    subjects: among === "all" || count.subject === "problems" ? [count.subject] : [count.subject, "problems"],
    cells: count.cells,
    sensitivity: count.sensitivity,
    counted: (facts) => (isAmong(facts) ? count.counted(facts) : zeros(count.cells)),
  };
}

function countOf(given: v.InferOutput<typeof Asked>["count"]): Count {
  switch (given.kind) {
    case "classes":
      return ofClasses(given);
    case "histogram":
      return ofHistogram(given);
    case "words":
      return ofWords(given);
  }
}

/** Of more samples than `most` each class gets its share, rounded so that they add up to `most`. */
function ofClasses({ classes, most }: v.InferOutput<typeof Classes>): Count {
  const counted = ({ classCounts }: OwnFacts): number[] => {
    const counts = zeros(classes).map((_, label) => classCounts[label] ?? 0);
    const total = counts.reduce((sum, one) => sum + one, 0);
    if (total <= most) return counts;
    let [before, given] = [0, 0];
    return counts.map((one) => {
      before += one;
      const found = Math.floor((before * most) / total) - given;
      given += found;
      return found;
    });
  };
  return { subject: "classes", sensitivity: most, cells: classes, counted };
}

/** Below the first edge, the bins, from the last edge on, and those that do not know. */
function ofHistogram({ of, edges }: v.InferOutput<typeof Histogram>): Count {
  const cells = edges.length + 2;
  const counted = ({ quantities }: OwnFacts): number[] => {
    const value = quantities[of] ?? Number.NaN;
    return oneOf(cells, Number.isNaN(value) ? cells - 1 : edges.filter((edge) => edge <= value).length);
  };
  return { subject: SUBJECT_OF[of], sensitivity: 1, cells, counted };
}

/** The last cell is for others. */
function ofWords({ of, words }: v.InferOutput<typeof Words>): Count {
  const cells = words.length + 1;
  const counted = ({ properties }: OwnFacts): number[] => {
    const place = words.indexOf(properties[of] ?? NONE);
    return oneOf(cells, place < 0 ? cells - 1 : place);
  };
  return { subject: SUBJECT_OF[of], sensitivity: 1, cells, counted };
}

const zeros = (cells: number): number[] => new Array<number>(cells).fill(0);

const oneOf = (cells: number, place: number): number[] => zeros(cells).map((_, at) => Number(at === place));

/** Throws CodedError `question.not_agreed` where the owner, who allows `agreed`, does not agree to be counted. */
export function checkAgreed(question: Question, agreed: AgreedQuestions): void {
  const others = question.subjects.filter((subject) => !agreed.answer.includes(subject)).sort();
  if (others.length > 0) throw notAgreed(`the owner has not agreed to be counted in ${others.join(" and ")}`);
  if (question.noiseMultiplier === null && !agreed.withoutNoise) {
    throw notAgreed("the owner has agreed to sums with noise only");
  }
  const { fewest } = question.terms;
  if (fewest < agreed.minDevices) {
    throw notAgreed(`the sum may be of ${fewest} devices, and the owner wants ${agreed.minDevices}`);
  }
}

/** In what the owner lets the device be counted. */
export interface AgreedQuestions {
  readonly answer: readonly Subject[];
  /** Also where the sum has no noise. */
  readonly withoutNoise: boolean;
  /** Devices that are summed at least. */
  readonly minDevices: number;
}

const notAgreed = (detail: string): CodedError => new CodedError("question.not_agreed", detail);
