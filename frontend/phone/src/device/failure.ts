/** What can go wrong between device and platform, and the one rule for whether a retry can succeed. */
import { CodedError } from "../wire/errors";
import type { Directive, Problem, Reason } from "../wire/messages";

/** HTTP statuses that do not depend on the request itself. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Between two check-ins, whatever the platform asks for. */
export const SHORTEST_S = 0.1;
/** The log of identities is read again. */
export const LOG_DAMAGED = "store.log_damaged";
const CREDENTIAL_ENDED = new Set(["fleet.revoked", "fleet.left", "fleet.credential_unknown"]);

/** No answer, or none that is the platform's. */
export class Unreachable extends CodedError {
  constructor(detail: string) {
    super("link.unreachable", detail);
  }
}

/** The platform refused the request; code and sentence are those of its answer. */
export class Refused extends CodedError {
  readonly status: number;

  constructor(problem: Problem) {
    super(problem.code, problem.detail);
    this.status = problem.status;
  }

  /** Whether this device's credential has ended, for good. */
  get isRevoked(): boolean {
    return CREDENTIAL_ENDED.has(this.code);
  }
}

/** Whether the same request can succeed later. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof Refused) return PASSING.has(error.status);
  return error instanceof Unreachable || (error instanceof CodedError && error.code === LOG_DAMAGED);
}

/** Whether something that is to be there was lost, or came wrong: the platform sends it again. */
export const isFetchedAnew = (error: unknown): boolean =>
  error instanceof CodedError && (error.code === "bundle.wrong_hash" || error.code === "bundle.missing");

/** The text of `error` for the platform and the owner, cut to the longest that a message may hold. */
export function reasonOf(error: unknown): Reason {
  const code = error instanceof CodedError ? error.code : "agent.failed";
  const sentence = error instanceof Error ? error.message : String(error);
  return { code: code.slice(0, 64), sentence: sentence.slice(0, 400) };
}

/**
 * Seconds to wait after so many `failures` in succession: full jitter below a limit that doubles up to `longestS`
 * (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). In a large fleet, whose devices are told
 * windows, as many as after an answer, so that an outage draws nobody together.
 */
export function delayS(failures: number, longestS: number, isLarge = false): number {
  if (failures === 0) return 0;
  if (isLarge) return (0.5 + Math.random()) * longestS;
  return Math.random() * Math.min(longestS, 0.5 * 2 ** Math.min(failures - 1, 30));
}

/** Seconds until the next check-in: drawn by each device for itself, so that those of a fleet spread. */
export function nextCheckInS({ check_in_s, window }: Pick<Directive, "check_in_s" | "window">): number {
  if (window === null) return (0.8 + 0.2 * Math.random()) * Math.max(check_in_s, SHORTEST_S);
  return Math.max(SHORTEST_S, window.after_s + window.within_s * Math.random());
}
