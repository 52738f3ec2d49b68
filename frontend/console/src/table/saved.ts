const LISTS = new Set(["hide", "show"]);
const BOOLEANS = new Set(["ready", "archived"]);

/** An address's parameters as a saved filter keeps them: texts, without the page. */
export function queryOf(search: object): Record<string, string> {
  const kept = Object.entries(search).filter(([name, value]) => name !== "page" && value !== undefined);
  return Object.fromEntries(kept.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : `${value}`]));
}

/** The address of a saved filter. */
export function searchOf(query: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, text]) => {
      if (LISTS.has(name)) return [name, text.split(",")];
      return [name, BOOLEANS.has(name) ? text === "true" : text];
    }),
  );
}
