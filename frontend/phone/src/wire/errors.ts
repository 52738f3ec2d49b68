/** What is wrong with a message, a bundle or an update, as a stable code and a sentence: `coterie_wire.errors`. */
export class CodedError extends Error {
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(detail.length <= 400 ? detail : `${detail.slice(0, 399)}…`);
    this.name = "CodedError";
  }
}
