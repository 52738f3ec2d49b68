/** The console's page that shows a list of the REST API: `/api/devices/?reason=x` is `/devices?reason=x`. */
export function pageOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console");
  const [, kind = "", id = ""] = /^\/api\/([a-z-]+)\/(?:([^/]+)\/)?/.exec(pathname) ?? [];
  const page = PAGES[kind] ?? "/";
  const query = searchParams.size === 0 ? "" : `?${searchParams}`;
  return id === "" ? `${page}${query}` : `${page}/${id}${query}`;
}

const PAGES: Readonly<Record<string, string>> = {
  audit: "/audit",
  devices: "/devices",
  "enrolment-tokens": "/enrol",
  federations: "/federations",
  jobs: "/jobs",
  operators: "/settings",
  pairs: "/models",
  rounds: "/rounds",
  tokens: "/settings",
};
