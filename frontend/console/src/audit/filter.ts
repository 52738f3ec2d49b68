import type { operations } from "../api/schema";
import { asked } from "../table/rows";
import { type TableSearch, tableSearch, texts } from "../table/search";

type Query = NonNullable<operations["audit_list"]["parameters"]["query"]>;

/** Which entries are shown. */
interface AuditFilter {
  readonly action?: NonNullable<Query["action"]>;
  /** What made the change. */
  readonly by?: NonNullable<Query["actor_kind"]>;
  /** First and last day, as ``2026-03-01`` in the person's time zone. */
  readonly from?: string;
  readonly to?: string;
}

export interface AuditSearch extends TableSearch, AuditFilter {
  /** The entry that is looked at. */
  readonly entry?: number;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The filter's part of an address. */
export function auditFilter(raw: Record<string, unknown>): AuditFilter {
  const { from, to, ...kinds } = texts<AuditFilter>(raw, ["action", "by", "from", "to"]);
  return {
    ...kinds,
    ...(from !== undefined && DAY.test(from) && { from }),
    ...(to !== undefined && DAY.test(to) && { to }),
  };
}

export function auditSearch(raw: Record<string, unknown>): AuditSearch {
  return {
    ...tableSearch(raw),
    ...auditFilter(raw),
    ...(typeof raw.entry === "number" && { entry: raw.entry }),
  };
}

/** What the platform is asked for; days are whole ones where the person is. */
export function auditAsked(search: AuditSearch): Query {
  const { action, by, from, to } = search;
  return {
    ...asked(search),
    ...(action !== undefined && { action }),
    ...(by !== undefined && { actor_kind: by }),
    ...(from !== undefined && { since: midnight(from, 0) }),
    ...(to !== undefined && { until: midnight(to, 1) }),
  };
}

function midnight(day: string, later: number): string {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
