/** Assignments that have ended here and that the platform goes on naming: a mirror of `coterie_agent.still_named`. */
import { CodedError } from "../wire/errors";
import type { Assignment, Directive } from "../wire/messages";

/** Answers in a row. The first two may have been on their way when the assignment ended. */
const NAMED_OFTEN = 3;

/** Counts the answers in a row that name an ended assignment. */
export class StillNamed {
  private last: Directive | null = null;
  private times = 0;

  /** `ended`, which `directive` names, once too many answers have for all of them to be old; else null. */
  count(directive: Directive, ended: Assignment): Assignment | null {
    if (directive !== this.last) {
      const again = this.last?.assignment?.assignment === ended.assignment;
      this.last = directive;
      this.times = again ? this.times + 1 : 1;
    }
    return this.times >= NAMED_OFTEN ? ended : null;
  }

  /** Count anew, and say why it is given back. */
  givenBack(): CodedError {
    this.times = 0;
    return new CodedError(
      "agent.ended_before",
      "the device has ended this assignment, and the platform has forgotten how, as after a restored backup",
    );
  }
}
