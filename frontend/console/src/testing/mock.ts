import { type DefaultBodyType, type HttpHandler, HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import type { paths } from "../api/schema";

type Method = "get" | "post" | "patch" | "put" | "delete";
type BodyOf<Responses, Status extends keyof Responses> = Responses[Status] extends {
  content: { "application/json": infer Body };
}
  ? Body
  : null;
/** What the OpenAPI description says that a request is answered with. */
type Answer<Path extends keyof paths, Of extends Method> = paths[Path][Of] extends { responses: infer Responses }
  ? BodyOf<Responses, keyof Responses & (200 | 201 | 204)>
  : never;

type Answering<Path extends keyof paths, Of extends Method> = (
  request: Request,
) => Answer<Path, Of> | Promise<Answer<Path, Of>>;

/** The platform as components see it; each test says what it answers, and whatever else is asked fails the test. */
export const platform = setupServer();

/** Answer a request as the REST API would: what does not fit its description does not compile. */
export function answers<Of extends Method, Path extends keyof paths>(
  method: Of,
  path: Path,
  body: Answer<Path, Of> | Answering<Path, Of>,
): void {
  platform.use(
    handler(method, path, async ({ request }) => {
      const given = typeof body === "function" ? await (body as Answering<Path, Of>)(request) : body;
      return given === null
        ? new HttpResponse(null, { status: 204 })
        : HttpResponse.json(given as DefaultBodyType, { status: method === "post" ? 201 : 200 });
    }),
  );
}

/** Refuse a request as the platform does: problem+json with a code. */
export function refuses(method: Method, path: keyof paths, status: number, code: string, detail: string): void {
  platform.use(handler(method, path, () => HttpResponse.json({ code, detail, fields: {} }, { status })));
}

/** Do not answer: the platform is gone, or the network is. */
export function fallsSilent(method: Method, path: keyof paths): void {
  platform.use(handler(method, path, () => HttpResponse.error()));
}

function handler(method: Method, path: string, resolve: Parameters<typeof http.get>[1]): HttpHandler {
  return http[method](`*${path.replaceAll(/\{(\w+)\}/g, ":$1")}`, resolve);
}
