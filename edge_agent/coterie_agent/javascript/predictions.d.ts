/** One sample, flattened in the order of the model's inputs, or by their names. */
export type Numbers = readonly number[] | Float32Array | Float64Array | Int32Array;
export type Features = Numbers | Readonly<Record<string, Numbers>>;

/** The most likely class of one sample. */
export interface Prediction {
  kind: "class";
  label: string;
  index: number;
  probability: number;
}

/** The output for one sample of a model that is not a classifier. */
export interface Output {
  kind: "output";
  output: number[];
}

export interface PredictionAnswer {
  /** Model version that the device holds; of an answer of the platform, the version of the model there. */
  version: string;
  /** Whether the device's personal model predicted, or the version itself. */
  personal: boolean;
  /** One a sample. */
  predictions: (Prediction | Output)[];
  /** Which form of the version predicted; `cloud`: the platform's cloud model. */
  form: string;
  /** From the request's arrival to the answer, in microseconds. */
  took_us: number;
  /** Whose predictions these are: an earlier answer, or the platform's of these samples; null: the device's model's. */
  fallback: "last_answer" | "platform" | null;
  /** How old the predictions are, where they are an earlier answer; else 0. */
  age_s: number;
}

/** What has happened since the service began. */
export interface Counted {
  requests: number;
  answered: number;
  last_answers: number;
  platform_answers: number;
  platform_failures: number;
  late: number;
  busy: number;
  without_model: number;
  samples: number;
  batches: number;
  swaps: number;
}

/** Durations counted: element i counts those from 2**(i/4) µs to 2**((i+1)/4) µs. */
export interface Histogram {
  counts: number[];
}

export interface Reason {
  code: string;
  sentence: string;
}

export interface Serving {
  /** Unix time of these figures. */
  at: number;
  /** Unix time at which the service began. */
  since: number;
  version: string | null;
  personal: boolean;
  form: string | null;
  /** Why there is no model, or why a newer one that the device holds is not used. */
  problem: Reason | null;
  counted: Counted;
  latency: Histogram;
  runs: Histogram;
}

/** The service refused the request (`serve.busy`, `serve.late`, `ingest.*`, …), or none answers (`serve.not_running`). */
export declare class PredictionError extends Error {
  constructor(code: string, detail: string, status: number | undefined);
  readonly code: string;
  readonly detail: string;
  /** HTTP's; undefined: nobody answered. */
  readonly status: number | undefined;
  /** Whether the same request can succeed a moment later. */
  get isPassing(): boolean;
}

export interface AskOptions {
  /** Within what the answer must come, in milliseconds; without it agent.toml says. */
  deadlineMs?: number;
  /** Of what the samples are: a late answer can be the last one of the same stream, and `fallback` says so; it can also be the platform's, where the device's owner lets samples go there. */
  stream?: string;
  /** Ends the waiting; the promise is rejected with its reason. */
  signal?: AbortSignal;
}

export declare class Predictions {
  /** Of the agent that lives in `home`, by default `~/.local/share/coterie-agent`. */
  constructor(home?: string);
  /** What the model on this device says about `samples`, 256 at most. Rejects with PredictionError. */
  predict(samples: Iterable<Features>, options?: AskOptions): Promise<PredictionAnswer>;
  /** Which model predicts, and what has happened since the service began. Rejects with PredictionError. */
  status(options?: { signal?: AbortSignal }): Promise<Serving>;
}
