import { t } from "../language/t";
import type { RoundDetail } from "./queries";

type Assignment = RoundDetail["assignments"][number];
/** A device's part in a round, whose update came. */
export interface Delivered {
  readonly device: string;
  readonly name: string;
  readonly update: NonNullable<Assignment["delivered"]>;
}

/** The updates that the merge compared or found fault with: those that it left out first, then the farthest. */
export function comparedOf(assignments: readonly Assignment[]): readonly Delivered[] {
  return assignments
    .flatMap(({ device, device_name, delivered }) =>
      delivered === null ? [] : [{ device, name: device_name, update: delivered }],
    )
    .filter(({ update }) => update.merge_weight !== null || isLeftOut(update))
    .sort((one, other) => rank(other) - rank(one) || far(other) - far(one));
}

/** Whether no version learned from it, though it was accepted. */
export function isLeftOut({ kept, fault_code }: Delivered["update"]): boolean {
  return kept === false || fault_code !== "";
}

/** What became of an update in the merge, in words. */
export function fateOf(update: Delivered["update"]): string {
  if (update.fault_sentence !== "") return t`left out: ${update.fault_sentence}`;
  if (isLeftOut(update)) return t`left out: others lie nearer to one another`;
  return t`counts`;
}

function rank({ update }: Delivered): number {
  return isLeftOut(update) ? 1 : 0;
}

function far({ update }: Delivered): number {
  return update.merge_distance ?? 0;
}
