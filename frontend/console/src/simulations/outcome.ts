/** One simulated round, as the simulator writes it. */
export interface SimulatedRound {
  readonly number: number;
  readonly opened_s: number;
  readonly ended_s: number;
  readonly invited: number;
  readonly lost: number;
  readonly delivered: number;
  readonly diverged: number;
  readonly outcome: "merged" | "abandoned";
  readonly accuracy: number | null;
  readonly loss: number | null;
  /** Why the merge of its updates gave no version; null, or missing in what older releases found: it gave one. */
  readonly fault?: { readonly code: string; readonly sentence: string } | null;
}

/** What a run found, as the simulator writes it. */
export interface Outcome {
  readonly devices: number;
  readonly samples: number;
  readonly held_out: number;
  readonly executor: string;
  readonly executor_reason: string;
  readonly rounds: readonly SimulatedRound[];
  readonly ended: "rounds" | "horizon";
  readonly simulated_s: number;
  readonly accuracy: number;
  /** Null where samples came over time. */
  readonly loss: number | null;
  readonly class_accuracy: readonly (number | null)[];
  readonly participants: number;
  readonly client_rounds: number;
  readonly bytes_by_kind: Readonly<Record<string, number>>;
  readonly messages_by_kind: Readonly<Record<string, number>>;
  readonly trained_s: number;
  /** In which order samples came to devices; null, or missing in what older releases found: they had all. */
  readonly drift?: Readonly<Record<string, unknown>> | null;
  readonly help?: readonly { readonly outcome: string }[];
  readonly recoveries?: readonly { readonly batches: number | null }[];
}

/** What a run found; undefined before it has ended well. */
export function outcomeOf(text: string): Outcome | undefined {
  return text === "" ? undefined : (JSON.parse(text) as Outcome);
}

const COLUMNS = [
  "number",
  "opened_s",
  "ended_s",
  "invited",
  "lost",
  "delivered",
  "diverged",
  "outcome",
  "accuracy",
  "loss",
] as const satisfies readonly (keyof SimulatedRound)[];

/** The rounds as a table: its header, and a row of each. */
export function roundRows({ rounds }: Outcome): {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
} {
  return { header: COLUMNS, rows: rounds.map((round) => COLUMNS.map((name) => round[name] ?? "")) };
}
