/** A request as a command that does the same, with an API token in the place of the browser's session. */
export async function curlOf(request: Request): Promise<string> {
  const parts = ["curl", "--fail-with-body", "-H", '"Authorization: Bearer $COTERIE_TOKEN"'];
  if (request.method !== "GET") parts.push("-X", request.method);
  const body = await request.clone().text();
  if (body !== "") parts.push("-H", quoted("Content-Type: application/json"), "--data", quoted(body));
  parts.push(quoted(request.url));
  return parts.join(" ");
}

/** Single quotes, within which a shell reads nothing. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

type Fetch = (request: Request) => Promise<Response>;

/** A call of the API's client, made with the way to send it. */
export type Call = (via: { fetch?: Fetch }) => Promise<unknown>;

/** The command for a call, which is not made. */
export async function commandOf(call: Call): Promise<string> {
  let seen: Request | undefined;
  await call({
    fetch: async (request) => {
      seen = request;
      return new Response("{}", { headers: { "Content-Type": "application/json" } });
    },
  });
  if (seen === undefined) throw new Error("the call sends nothing");
  return curlOf(seen);
}
