import createClient, { type Middleware } from "openapi-fetch";
import { csrfToken } from "./csrf";
import { problemOf } from "./problem";
import type { paths } from "./schema";

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

const session: Middleware = {
  onRequest({ request }) {
    if (!SAFE.has(request.method)) request.headers.set("X-CSRFToken", csrfToken());
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) return;
    if (response.status === 401) signInAgain();
    throw problemOf(response.status, await response.json().catch(() => null));
  },
};

/** The session has ended: sign in, and come back to where one was. */
function signInAgain(): void {
  window.location.assign(`/sign-in/?next=${encodeURIComponent(window.location.pathname + window.location.search)}`);
}

/** The REST API, typed by its OpenAPI description; a refusal is thrown as a `Problem`. */
export const api = createClient<paths, "application/json">({ credentials: "same-origin" });
api.use(session);
