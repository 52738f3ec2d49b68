import { t } from "../language/t";
/** How the platform refuses: problem+json (RFC 9457) with a stable code. */
export class Problem extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    readonly detail: string,
    readonly fields: Readonly<Record<string, unknown>>,
  ) {
    super(detail);
    this.name = "Problem";
  }
}

/** Why the browser, or the person before it, did not do its part; the platform was not asked. */
export class NotDone extends Error {
  override readonly name = "NotDone";
}

export function isProblem(error: unknown): error is Problem {
  return error instanceof Problem;
}

/** The problem that a response's body states; a body that states none (a proxy's page, say) gets a code of its own. */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body === "object" && body !== null && "code" in body && typeof body.code === "string") {
    const detail = "detail" in body && typeof body.detail === "string" ? body.detail : body.code;
    const fields = "fields" in body && typeof body.fields === "object" && body.fields !== null ? body.fields : {};
    return new Problem(body.code, status, detail, fields as Record<string, unknown>);
  }
  return new Problem("http.unexpected", status, t`The platform answered ${status} without saying why.`, {});
}
