/**
 * The control messages that a phone sends and reads: a mirror of `coterie_wire.messages`, and like it the one check of
 * what comes from outside. Fields of messages that are not known are passed over; of plans, requirements and manifests
 * they are refused.
 */
import * as v from "valibot";
import { CodedError } from "./errors";
import type { Latency } from "./latency";

export const PROTOCOL = 1;
export const MAX_MESSAGE_BYTES = 1 << 20;

export const Count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 53));
const Seconds = v.pipe(v.number(), v.minValue(0), v.maxValue(1e9));
const Identifier = v.pipe(v.string(), v.maxLength(64));
export const Sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
export const Bytes = v.pipe(v.string(), v.base64());

export const Reason = v.object({
  code: v.pipe(v.string(), v.maxLength(64)),
  sentence: v.pipe(v.string(), v.maxLength(400)),
});
export type Reason = v.InferOutput<typeof Reason>;

export const Conditions = v.object({
  charging: v.picklist(["yes", "no", "unknown"]),
  network: v.picklist(["wifi", "ethernet", "metered", "none", "unknown"]),
  idle: v.picklist(["yes", "no", "unknown"]),
  temperature_c: v.nullable(v.number()),
  /** Those that the browser does not tell and the owner has said. */
  confirmed: v.optional(v.array(v.picklist(["charging", "network"]))),
});
export type Conditions = v.InferOutput<typeof Conditions>;

const Hour = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(23));
export const Requirements = v.strictObject({
  charging: v.optional(v.boolean(), true),
  unmetered: v.optional(v.boolean(), true),
  idle: v.optional(v.boolean(), false),
  max_temperature_c: v.optional(v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(120))), null),
  hours: v.optional(v.nullable(v.tuple([Hour, Hour])), null),
  unknown: v.optional(v.picklist(["refuse", "allow"]), "refuse"),
});
export type Requirements = v.InferOutput<typeof Requirements>;

export const SignedManifest = v.strictObject({ manifest: Bytes, signature: Bytes });
export type SignedManifest = v.InferOutput<typeof SignedManifest>;

export const Enrolled = v.object({
  device: Identifier,
  credential: v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,500}$/)),
  platform_key: Bytes,
  check_in_s: Seconds,
});
export type Enrolled = v.InferOutput<typeof Enrolled>;

/** How much a federation may tell of any of its devices under noise, in all. */
export const PrivacyBudget = v.object({
  epsilon: v.pipe(v.number(), v.gtValue(0), v.maxValue(1e3)),
  delta: v.pipe(v.number(), v.gtValue(0), v.ltValue(1)),
});
export type PrivacyBudget = v.InferOutput<typeof PrivacyBudget>;

export const Assignment = v.object({
  assignment: Identifier,
  federation: v.string(),
  round: Count,
  plan: v.unknown(),
  manifest: SignedManifest,
  seed: Count,
  remaining_s: Seconds,
  /** How many sums were released before the round's, where the plan's noise depends on these. */
  stream_index: v.optional(v.nullable(Count), null),
  /** What the platform holds the federation to, where the plan spends any. */
  budget: v.optional(v.nullable(PrivacyBudget), null),
  /** A signed teacher, where the plan has the device learn from the cloud model. */
  teacher: v.optional(v.nullable(SignedManifest), null),
});
export type Assignment = v.InferOutput<typeof Assignment>;

export const Trial = v.object({ rollout: Identifier, candidate: Identifier, champion: SignedManifest });
export type Trial = v.InferOutput<typeof Trial>;

/** What holds for a member of a federation between rounds. */
export const StandingPlan = v.object({
  digest: Sha256,
  federation: v.pipe(v.string(), v.maxLength(100)),
  plan: v.unknown(),
});
export type StandingPlan = v.InferOutput<typeof StandingPlan>;

/** A helper's portion of its model, ready for the device that asked. */
export const Portion = v.object({
  transfer: Identifier,
  content: v.object({ sha256: Sha256, size_bytes: Count }),
  remaining_s: Seconds,
});
export type Portion = v.InferOutput<typeof Portion>;

/** How the device's help request stands. */
export const HelpNews = v.object({
  request: Identifier,
  state: v.picklist([
    "unknown",
    "asked",
    "matched",
    "requested",
    "delivered",
    "merged",
    "judged",
    "unmatched",
    "abandoned",
  ]),
  reason: v.optional(v.nullable(Reason), null),
  portion: v.optional(v.nullable(Portion), null),
});
export type HelpNews = v.InferOutput<typeof HelpNews>;

/** Help another device: upload the portion of the own model that knows `classes`. */
export const Serve = v.object({
  transfer: Identifier,
  federation: v.pipe(v.string(), v.maxLength(100)),
  digest: Sha256,
  classes: v.pipe(v.array(Count), v.maxLength(256)),
  remaining_s: Seconds,
});
export type Serve = v.InferOutput<typeof Serve>;

/** When the device comes back: at a moment that it draws of `within_s` seconds from `after_s` on. */
export const CheckInWindow = v.object({ after_s: Seconds, within_s: Seconds });
export type CheckInWindow = v.InferOutput<typeof CheckInWindow>;

/** A question that the device is asked, until it has answered or declined. */
export const Asked = v.object({ answer: Identifier, federation: v.string(), question: v.unknown() });
export type Asked = v.InferOutput<typeof Asked>;

export const Directive = v.object({
  check_in_s: Seconds,
  assignment: v.optional(v.nullable(Assignment), null),
  manifest: v.optional(v.nullable(SignedManifest), null),
  requirements: v.optional(v.nullable(Requirements), null),
  wait: v.optional(v.nullable(Reason), null),
  /** Smaller forms of the version that the device holds, which it does not know: a signed list. */
  variants: v.optional(v.nullable(SignedManifest), null),
  trial: v.optional(v.nullable(Trial), null),
  /** Whether something holds between rounds: the plan that the device told the digest of, or `standing`. */
  stands: v.optional(v.boolean(), false),
  standing: v.optional(v.nullable(StandingPlan), null),
  /** How the help request stands that the device told of. */
  help: v.optional(v.nullable(HelpNews), null),
  /** Help another device now. */
  serve: v.optional(v.nullable(Serve), null),
  /** Versions that were rolled back: a personal model that came from one is given up. */
  withdrawn: v.optional(v.pipe(v.array(Identifier), v.maxLength(64)), []),
  ignores_unknown: v.optional(v.boolean(), false),
  next_keys: v.optional(v.pipe(v.array(SignedManifest), v.maxLength(64)), []),
  question: v.optional(v.nullable(Asked), null),
  /** In place of `check_in_s`, in a large fleet. */
  window: v.optional(v.nullable(CheckInWindow), null),
  /** A plan of the device's federations hides in a sum what devices measure: the device tells it nowhere else. */
  hides: v.optional(v.boolean(), false),
  /** Those that the device is in and that have not ended; null: the platform does not say. */
  federations: v.optional(v.nullable(v.array(v.string())), null),
});
export type Directive = v.InferOutput<typeof Directive>;

export const UploadState = v.object({ offset: Count, accepted: v.optional(v.boolean(), false) });
export type UploadState = v.InferOutput<typeof UploadState>;

export const Done = v.object({});

/** Some rows of a section of what the platform knows, or which sections there are. */
export const ExportPage = v.object({
  sections: v.optional(v.array(v.string()), []),
  rows: v.optional(v.array(v.unknown()), []),
  after: v.optional(v.string(), ""),
});

/** A version that was made with an update of a device that was forgotten since. */
const HoldsUpdate = v.object({
  federation: v.string(),
  version: Count,
  at: v.string(),
  /** The update came in a sum, from which nobody could have taken it. */
  in_sum: v.optional(v.boolean(), false),
});

/** What became of a federation's models, whose plan promises to be without devices that are forgotten. */
const Rebuilt = v.object({
  federation: v.string(),
  done: v.boolean(),
  sentence: v.string(),
  done_at: v.optional(v.string(), ""),
});

/** How far a forgetting is, and what is known to be left. */
export const ForgetNews = v.object({
  receipt: v.string(),
  done: v.boolean(),
  sentence: v.string(),
  asked_at: v.string(),
  taken_out: v.optional(Count, 0),
  removed: v.optional(v.record(v.string(), Count), {}),
  /** The newest of `versions`, oldest first. */
  holds: v.optional(v.array(HoldsUpdate), []),
  versions: v.optional(Count, 0),
  rebuilt: v.optional(v.array(Rebuilt), []),
  done_at: v.optional(v.string(), ""),
});
export type ForgetNews = v.InferOutput<typeof ForgetNews>;

export const Problem = v.object({
  code: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
});
export type Problem = v.InferOutput<typeof Problem>;

export interface Capabilities {
  cores: number;
  memory_bytes: number;
  machine: string;
  agent: string;
  train_step_s?: number;
  platform_key?: string;
  kinds: Readonly<Record<string, readonly string[]>>;
  answers?: OfferToAnswer;
  /** Whether it sends its log to an operator who asks. */
  logs?: { readonly refuses: Reason };
  /** What its owner has taken back of what was agreed to. */
  declines?: readonly string[];
}

/** What its owner lets the device be counted in. */
export interface OfferToAnswer {
  subjects: readonly string[];
  without_noise: boolean;
  min_devices: number;
}

export interface Enrol {
  protocol: number;
  token: string;
  name: string;
  capabilities: Capabilities;
}

export interface Progress {
  assignment: string;
  stage: "accepted" | "training" | "waiting" | "uploading";
  steps_done?: number;
  steps_total?: number;
}

export interface LabelFacts {
  asked: number;
  implied: number;
  unlabelled: number;
  questions: number;
  answers: number;
}

export interface CheckIn {
  protocol: number;
  conditions: Conditions;
  blockers?: readonly Reason[];
  progress?: Progress;
  version?: string;
  metadata?: { samples: number; class_counts: readonly number[]; labels?: LabelFacts };
  capabilities?: Capabilities;
  /** Digest of the plan that the device knows to hold between rounds. */
  standing?: string;
  /** The help request that the device has not seen the end of. */
  help?: string;
  /** Digest of the list of smaller forms that the device knows of the version that it holds; blank: it knows none. */
  variants?: string;
  /** How quick the device is, in place of what it told before; left out: as it told. */
  latencies?: readonly Latency[];
}

/** How the personal model compares with the version, for people. */
export interface ReportPersonal {
  federation: string;
  version: string;
  answers: boolean;
  samples: number;
  version_accuracy: number | null;
  own_accuracy: number | null;
}

export interface OfferUpdate {
  assignment: string;
  sha256: string;
  size_bytes: number;
  samples: number;
  steps_done: number;
  steps_total: number;
  loss_before: number;
  loss_after: number;
  accuracy_before: number | null;
  train_s: number;
  /** Those whose rows of the output layer the update holds, ascending; left out: it holds all. */
  classes?: readonly number[];
}

/** The value of `schema` that the JSON `text` stands for. Throws CodedError `wire.too_large` or `wire.malformed`. */
export function decode<S extends v.GenericSchema>(schema: S, text: string, what = "message"): v.InferOutput<S> {
  if (text.length > MAX_MESSAGE_BYTES) {
    throw new CodedError(
      "wire.too_large",
      `a message of ${text.length} characters; at most ${MAX_MESSAGE_BYTES} are read`,
    );
  }
  return checked(schema, parsed(text, "wire.malformed"), "wire.malformed", what);
}

/** JSON, without a shape yet. Throws CodedError `code`. */
export function parsed(text: string, code: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CodedError(code, `not JSON: ${(error as Error).message}`);
  }
}

/** `value`, checked against `schema`. Throws CodedError `code`. */
export function checked<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  code: string,
  what: string,
): v.InferOutput<S> {
  const found = v.safeParse(schema, value);
  if (found.success) return found.output;
  const [issue] = found.issues;
  const place = v.getDotPath(issue);
  throw new CodedError(code, `${what}: ${issue.message}${place === null ? "" : ` at ${place}`}`);
}
