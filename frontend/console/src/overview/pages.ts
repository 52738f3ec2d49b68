/** The console's page that shows what a path of the REST API lists: `/api/devices/?search=x` is `/devices?q=x`. */
export function pageOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console");
  const [, kind = "", id = ""] = /^\/api\/([a-z-]+)\/(?:([^/]+)\/)?$/.exec(pathname) ?? [];
  const page = PAGES[kind];
  if (page === undefined) return "/";
  const { to, tab, each = false, beside } = typeof page === "string" ? { to: page } : page(searchParams);
  const asked = new URLSearchParams(tab === undefined ? {} : { tab });
  for (const [name, value] of searchParams) asked.append(NAMES[name] ?? name, value);
  if (beside !== undefined && id !== "") asked.append(beside, id);
  const query = asked.size === 0 ? "" : `?${asked}`;
  return each && id !== "" ? `${to}/${id}${query}` : `${to}${query}`;
}

interface Page {
  readonly to: string;
  readonly tab?: string;
  /** Each row has a page of its own, below the list's. */
  readonly each?: boolean;
  /** Each row is looked at beside the list, under this name in the address. */
  readonly beside?: string;
}

/** What pages call otherwise than the REST API. */
const NAMES: Readonly<Record<string, string>> = { search: "q" };

/** A federation's own page shows its rounds. */
function rounds(asked: URLSearchParams): Page {
  const federation = asked.get("federation");
  asked.delete("federation");
  return federation === null ? { to: "/federations" } : { to: `/federations/${federation}`, tab: "rounds" };
}

const settings = (tab: string) => (): Page => ({ to: "/settings", tab });
const withPages = (to: string) => (): Page => ({ to, each: true });

const PAGES: Readonly<Record<string, string | ((asked: URLSearchParams) => Page)>> = {
  "agent-rollouts": withPages("/agents"),
  "alert-channels": () => ({ to: "/alerts", tab: "channels" }),
  "alert-incidents": "/alerts",
  "alert-notices": () => ({ to: "/alerts", tab: "log" }),
  "alert-rules": () => ({ to: "/alerts", tab: "rules" }),
  analytics: withPages("/analytics"),
  assignments: "/parts",
  audit: () => ({ to: "/audit", beside: "entry" }),
  devices: withPages("/devices"),
  "enrolment-tokens": "/enrol",
  federations: withPages("/federations"),
  "help-requests": "/help",
  jobs: () => ({ to: "/jobs", beside: "job" }),
  operators: settings("people"),
  pairs: withPages("/models"),
  rounds,
  tokens: settings("tokens"),
  versions: withPages("/models/versions"),
  "webhook-deliveries": settings("deliveries"),
  webhooks: settings("webhooks"),
};
