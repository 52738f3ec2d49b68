import type { components } from "../api/schema";
import type { Version } from "./queries";

type Transfers = components["schemas"]["PaginatedTransferList"];

/** How many portions devices kept while a version was the newest that they could have, by version. */
export function transfersMeanwhile(
  versions: readonly Version[],
  { results, next }: Pick<Transfers, "results" | "next">,
): ReadonlyMap<string, number> {
  const newestFirst = versions
    .filter(({ role }) => role === "device")
    .toSorted((one, other) => other.created_at.localeCompare(one.created_at));
  const oldest = results.at(-1)?.matched_at;
  const found = new Map<string, number>();
  for (const { state, ended_at } of results) {
    if (state !== "kept" || ended_at === null) continue;
    const version = newestFirst.find(({ created_at }) => created_at <= ended_at);
    // Of a version older than the page of transfers only some would be counted.
    if (version === undefined || (next != null && oldest !== undefined && version.created_at < oldest)) continue;
    found.set(version.id, (found.get(version.id) ?? 0) + 1);
  }
  return found;
}
