/** What one who calls the platform does about failures that pass: it waits, longer with each. A mirror of
 * `coterie_agent.retrying`. */
import { delayS, isRetryable, Refused, reasonOf } from "./failure";
import { type Link, NOTHING } from "./link";
import { nowS, type Situation } from "./situation";

export class Retrying {
  private failures = 0;

  /** `longestS`: seconds that a wait lasts at most. */
  constructor(
    private readonly link: Link,
    private readonly situation: Situation,
    private readonly longestS: () => number,
  ) {}

  /** Wait for the next failure as for a first one. */
  succeed(): void {
    this.failures = 0;
  }

  /** One more failure: for so many seconds the platform is not to be called. */
  nextDelayS(): number {
    this.failures += 1;
    return delayS(this.failures, this.longestS());
  }

  /** Do not call the platform for a while; only the end of the device ends the wait. */
  async waitOut(): Promise<void> {
    const { situation } = this;
    const until = nowS() + this.nextDelayS();
    for (let left = until - nowS(); left > 0 && situation.now.ending === null; left = until - nowS()) {
      await situation.wait(situation.now.edition, left);
    }
  }

  /** Whether `error` passes, and was waited out, or the credential has ended, and the device with it. */
  async dealsWith(error: unknown): Promise<boolean> {
    if (error instanceof Refused && error.isRevoked) this.situation.replace({ ending: reasonOf(error) });
    else if (isRetryable(error)) await this.waitOut();
    else return false;
    return true;
  }

  /**
   * Tell the platform why, so that it need not wait for the device; false: not yet, or the credential has ended. What
   * the platform refuses to take back is given back, too: it is not the device's any more.
   */
  async giveBack(assignment: string, error: unknown): Promise<boolean> {
    try {
      await this.link.call("release-assignment", { assignment, reason: reasonOf(error) }, NOTHING);
    } catch (failure) {
      return !(await this.dealsWith(failure));
    }
    return true;
  }
}
