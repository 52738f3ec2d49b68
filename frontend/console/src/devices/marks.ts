import type { Mark } from "../chart/TimeChart";
import type { HelpRequest, Transfer } from "../help/queries";
import { t } from "../language/t";
import type { Part } from "../parts/queries";

/** Where a device drifted and asked for help, what became of the help, and when it was given another version. */
export function marksOf(
  parts: readonly Part[],
  requests: readonly HelpRequest[],
  numbers: ReadonlyMap<string, number>,
): readonly Mark[] {
  return [...requests.flatMap(drifted), ...rolledOut(parts, numbers)].sort((one, other) => one.at - other.at);
}

function drifted(request: HelpRequest): readonly Mark[] {
  const asked = { at: seconds(request.asked_at), label: "drift" };
  const judged = request.transfers.find((transfer) => transfer.state === "kept" || transfer.state === "undone");
  return judged?.ended_at == null ? [asked] : [asked, { at: seconds(judged.ended_at), label: helped(judged) }];
}

function helped({ state }: Transfer): string {
  return state === "kept" ? t`helped` : t`help undone`;
}

/** The first part that began with another version than the one before; parts may stand in any order. */
function rolledOut(parts: readonly Part[], numbers: ReadonlyMap<string, number>): readonly Mark[] {
  const ordered = [...parts].sort((one, other) => seconds(one.offered_at) - seconds(other.offered_at));
  return ordered.flatMap(({ base_version: version, offered_at: at }, index) => {
    if (index === 0 || ordered[index - 1]?.base_version === version) return [];
    const number = numbers.get(version);
    return [{ at: seconds(at), label: number === undefined ? "new version" : `version ${number}` }];
  });
}

function seconds(at: string): number {
  return Date.parse(at) / 1000;
}
