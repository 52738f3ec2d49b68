import { STATUSES, type Status } from "../devices/queries";
import type { Overview } from "./queries";

export type Part = Overview["by_status"][number];

export interface Standing {
  readonly status: Status;
  readonly devices: number;
  /** Why, most first; none where the state says it. */
  readonly reasons: readonly Part[];
}

/** The fleet by state, those that are ready first, each with what its devices wait for. */
export function standings(parts: readonly Part[]): readonly Standing[] {
  return STATUSES.flatMap((status) => {
    const own = parts.filter((part) => part.status === status);
    if (own.length === 0) return [];
    const devices = own.reduce((sum, part) => sum + part.devices, 0);
    const reasons = own.filter((part) => part.reason !== "").sort((one, other) => other.devices - one.devices);
    return [{ status, devices, reasons }];
  });
}
