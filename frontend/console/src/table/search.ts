/** What a table shows, as it stands in the address: everybody with the link sees the same rows. */
export interface TableSearch {
  readonly q?: string;
  /** A column's name; with a minus before it, greatest first. */
  readonly sort?: string;
  /** From 1. */
  readonly page?: number;
  /** What is archived, instead of the rest. */
  readonly archived?: true;
  /** Columns that are not shown. */
  readonly hide?: readonly string[];
  /** Columns that are shown, of those that only are when they are chosen. */
  readonly show?: readonly string[];
}

/** The table's part of an address; what does not fit is left out, so that an old link still opens the page. */
export function tableSearch(raw: Record<string, unknown>): TableSearch {
  const search: { -readonly [Key in keyof TableSearch]: TableSearch[Key] } = {};
  if (typeof raw.q === "string" && raw.q !== "") search.q = raw.q;
  if (typeof raw.sort === "string" && /^-?[a-z_]+$/.test(raw.sort)) search.sort = raw.sort;
  if (typeof raw.page === "number" && Number.isInteger(raw.page) && raw.page > 1) search.page = raw.page;
  if (raw.archived === true) search.archived = true;
  for (const name of ["hide", "show"] as const) {
    const columns = raw[name];
    if (Array.isArray(columns) && columns.length > 0) search[name] = columns.filter((id) => typeof id === "string");
  }
  return search;
}

/**
 * The named parameters of an address that are texts. `Filter` may be narrower: a value that the platform does not know is
 * asked for as it stands, and refused by name; left out, it would show everything.
 */
export function texts<Filter extends { readonly [Key in keyof Filter]?: string }>(
  raw: Record<string, unknown>,
  names: readonly (keyof Filter & string)[],
): Filter {
  const found = names.flatMap((name) => {
    const value = raw[name];
    return typeof value === "string" && value !== "" ? [[name, value]] : [];
  });
  return Object.fromEntries(found) as Filter;
}

/** The parameter of an address that is one of `choices`. */
export function choice<Choice extends string>(value: unknown, choices: readonly Choice[]): Choice | undefined {
  return choices.find((one) => one === value);
}

/** The sort after a click on a column: ascending, descending, none. */
export function nextSort(now: string | undefined, column: string): string | undefined {
  if (now === column) return `-${column}`;
  return now === `-${column}` ? undefined : column;
}

interface Choosable {
  readonly id: string;
  /** Only shown when it is chosen. */
  readonly optional?: boolean;
}

/** Which columns are shown although they need not be, and which are not although they could. */
type Shown = { readonly [name in "show" | "hide"]?: TableSearch[name] | undefined };

export function isShown(search: Shown, { id, optional = false }: Choosable): boolean {
  return optional ? search.show?.includes(id) === true : search.hide?.includes(id) !== true;
}

/** The table with a column shown that was not, or the other way round. */
export function withColumnToggled(search: TableSearch, column: Choosable): TableSearch {
  const name = column.optional === true ? "show" : "hide";
  const { [name]: before = [], ...kept } = search;
  const after = before.includes(column.id) ? before.filter((id) => id !== column.id) : [...before, column.id];
  return after.length === 0 ? kept : { ...kept, [name]: after };
}
