/** Shell patterns of names, as Python's `fnmatch.fnmatchcase` reads them: `*`, `?`, `[seq]` and `[!seq]`. */

/** Whether all of `name` fits the `pattern`. */
export function fitsPattern(name: string, pattern: string): boolean {
  let source = "";
  const signs = [...pattern];
  for (let at = 0; at < signs.length; ) {
    const sign = signs[at++] as string;
    if (sign === "*") source += ".*";
    else if (sign === "?") source += ".";
    else if (sign === "[") {
      const end = endOfSet(signs, at);
      source += end === null ? "\\[" : setOf(signs.slice(at, end));
      at = end === null ? at : end + 1;
    } else source += literal(sign);
  }
  return new RegExp(`^(?:${source})$`, "su").test(name);
}

/** Where the `]` is that ends a set, which may begin with one that does not; null: none is. */
function endOfSet(signs: readonly string[], start: number): number | null {
  let at = start;
  if (signs[at] === "!") at += 1;
  if (signs[at] === "]") at += 1;
  const end = signs.indexOf("]", at);
  return end < 0 ? null : end;
}

function setOf(signs: readonly string[]): string {
  const isNegated = signs[0] === "!";
  const listed = isNegated ? signs.slice(1) : signs;
  const parts: string[] = [];
  for (let at = 0; at < listed.length; at++) {
    const [from, dash, to] = [listed[at] as string, listed[at + 1], listed[at + 2]];
    if (dash !== "-" || to === undefined) parts.push(inSet(from));
    else {
      if (from <= to) parts.push(`${inSet(from)}-${inSet(to)}`); // a range that goes down has nothing in it
      at += 2;
    }
  }
  if (parts.length === 0) return isNegated ? "." : "[]";
  return `[${isNegated ? "^" : ""}${parts.join("")}]`;
}

const literal = (sign: string): string => sign.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");

const inSet = (sign: string): string => sign.replace(/[\\^[\]-]/u, "\\$&");
