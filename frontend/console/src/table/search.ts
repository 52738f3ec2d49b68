/** What a table shows, as it stands in the address: everybody with the link sees the same rows. */
export interface TableSearch {
  readonly q?: string;
  /** A column's name; with a minus before it, greatest first. */
  readonly sort?: string;
  /** From 1. */
  readonly page?: number;
  /** Columns that are not shown. */
  readonly hide?: readonly string[];
}

/** The table's part of an address; what does not fit is left out, so that an old link still opens the page. */
export function tableSearch(raw: Record<string, unknown>): TableSearch {
  const search: { -readonly [Key in keyof TableSearch]: TableSearch[Key] } = {};
  if (typeof raw.q === "string" && raw.q !== "") search.q = raw.q;
  if (typeof raw.sort === "string" && /^-?[a-z_]+$/.test(raw.sort)) search.sort = raw.sort;
  if (typeof raw.page === "number" && Number.isInteger(raw.page) && raw.page > 1) search.page = raw.page;
  if (Array.isArray(raw.hide) && raw.hide.length > 0) search.hide = raw.hide.filter((name) => typeof name === "string");
  return search;
}

/** The sort after a click on a column: ascending, descending, none. */
export function nextSort(now: string | undefined, column: string): string | undefined {
  if (now === column) return `-${column}`;
  return now === `-${column}` ? undefined : column;
}
