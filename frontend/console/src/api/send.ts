import { csrfToken } from "./csrf";
import { problemOf } from "./problem";

/** A request that the platform itself described, as the remedies of repairs are; everything else goes through `api`. */
export async function send(
  method: string,
  path: string,
  { fetch = globalThis.fetch }: { fetch?: (request: Request) => Promise<Response> },
): Promise<void> {
  const request = new Request(new URL(path, window.location.origin), {
    method,
    headers: { "X-CSRFToken": csrfToken() },
    credentials: "same-origin",
  });
  const response = await fetch(request);
  if (!response.ok) throw problemOf(response.status, await response.json().catch(() => null));
}
