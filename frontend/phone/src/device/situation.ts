/** The state that check-ins and work share: one immutable value, replaced, and a wait for the next. */
import type { Takes } from "../sources/takes";
import type { ModelSpec } from "../wire/bundle";
import type { Conditions, Directive, Progress, Reason } from "../wire/messages";
import { blocksNetwork } from "./policy";

export interface Now {
  /** Grows with every change. */
  readonly edition: number;
  readonly conditions: Conditions;
  readonly blockers: readonly Reason[];
  /** The platform's last answer. */
  readonly directive: Directive | null;
  /** When the round of the directive's assignment closes, on `performance.now`'s clock in seconds. */
  readonly closesAt: number | null;
  readonly isOnline: boolean;
  readonly linkProblem: Reason | null;
  readonly progress: Progress | null;
  /** Model version that the device holds. */
  readonly version: string | null;
  readonly model: ModelSpec | null;
  /** Digest of the list of smaller forms that the device knows of that version; blank: it knows none. */
  readonly forms: string;
  /** Which data of the phone's own that version takes. */
  readonly takes: Takes | null;
  /** Steps of the personal model's training under way; null: none is. */
  readonly tuning: { readonly done: number; readonly total: number } | null;
  /** What the secure sum waits for that the device takes part in. */
  readonly sumWait: Reason | null;
  /** What the sum waits for that the device answers a question in. */
  readonly questionWait: Reason | null;
  /** A round was refused which the owner's privacy budget does not pay for; null: it pays for one. */
  readonly budgetWait: Reason | null;
  /** Why the device must end, if that does not pass by waiting. */
  readonly ending: Reason | null;
}

const STARTING: Reason = {
  code: "agent.starting",
  sentence: "the agent has just started and has not looked at its conditions yet",
};

const PROGRESS_S = 0.5;

export const nowS = (): number => performance.now() / 1000;

export class Situation {
  now: Now = {
    edition: 0,
    conditions: { charging: "unknown", network: "unknown", idle: "unknown", temperature_c: null },
    blockers: [STARTING],
    directive: null,
    closesAt: null,
    isOnline: false,
    linkProblem: null,
    progress: null,
    version: null,
    model: null,
    forms: "",
    takes: null,
    tuning: null,
    sumWait: null,
    questionWait: null,
    budgetWait: null,
    ending: null,
  };
  private waiting: (() => void)[] = [];
  private steppedAt = 0;

  replace(changes: Partial<Omit<Now, "edition">>): void {
    const changed = { ...this.now, ...changes };
    if (JSON.stringify(changed) === JSON.stringify(this.now)) return;
    this.now = changed;
    this.wake();
  }

  /** A step of what is under way, of hundreds a second: the last is shown, and of the others one each half second. */
  step(changes: Pick<Now, "progress"> | Pick<Now, "tuning">, isLast: boolean): void {
    if (!isLast && nowS() - this.steppedAt < PROGRESS_S) return;
    this.steppedAt = nowS();
    this.replace(changes);
  }

  /** Nothing that is shown has changed, and those who wait are to look again. */
  wake(): void {
    this.now = { ...this.now, edition: this.now.edition + 1 };
    const woken = this.waiting;
    this.waiting = [];
    for (const one of woken) one();
  }

  /** Whether nothing is to be computed now. */
  isHeldBack(): boolean {
    return this.now.ending !== null || this.now.blockers.length > 0;
  }

  /** Whether nothing is to be sent or downloaded now. */
  isOffline(): boolean {
    return this.now.ending !== null || blocksNetwork(this.now.blockers);
  }

  /** Deletes from the platform's last answer a wait that was one of the blockers, and has passed. */
  judged(conditions: Conditions, blockers: readonly Reason[]): void {
    const { directive, blockers: before } = this.now;
    const wait = directive?.wait ?? null;
    const has = (reasons: readonly Reason[]): boolean => reasons.some(({ code }) => code === wait?.code);
    const isPast = has(before) && !has(blockers);
    this.replace({
      conditions,
      blockers,
      directive: directive !== null && isPast ? { ...directive, wait: null } : directive,
    });
  }

  direct(directive: Directive): void {
    const { assignment } = directive;
    this.replace({ directive, closesAt: assignment === null ? null : nowS() + assignment.remaining_s });
  }

  /** Returns when the situation is newer than `edition`, or after `timeoutS`. */
  async wait(edition: number, timeoutS: number | null): Promise<void> {
    if (this.now.edition > edition) return;
    await new Promise<void>((resolve) => {
      const timer = timeoutS === null ? undefined : setTimeout(resolve, timeoutS * 1000);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
