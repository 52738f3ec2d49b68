import { t } from "../language/t";
import type { Version } from "./queries";

/** Lines of one chart: each lineage's accuracies at the times at which any version was made. */
export interface Accuracies {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
}

/** Lines that can be told from one another. */
const MOST_LINES = 6;

/**
 * Of versions, oldest first, those that were measured, on held-out samples and, as far as `onDevices` has them by
 * version, on devices; the lines with the most of them.
 */
export function accuraciesOf(
  versions: readonly Version[],
  onDevices: ReadonlyMap<string, number> = new Map(),
): Accuracies {
  const measured = versions
    .map((version) => ({ at: Date.parse(version.created_at) / 1000, values: valuesOf(version, onDevices) }))
    .filter(({ values }) => values.size > 0);
  const sizes = new Map<string, number>();
  for (const { values } of measured) for (const line of values.keys()) sizes.set(line, (sizes.get(line) ?? 0) + 1);
  const lines = [...sizes]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MOST_LINES)
    .map(([line]) => line);
  const shown = measured.filter(({ values }) => lines.some((line) => values.has(line)));
  return {
    times: shown.map(({ at }) => at),
    series: lines.map((label) => ({ label, values: shown.map(({ values }) => values.get(label) ?? null) })),
  };
}

/** The accuracies of a version, by line. */
function valuesOf(version: Version, onDevices: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const line = lineOf(version);
  const heldOut = (version.metrics as Readonly<Record<string, unknown>> | null)?.accuracy;
  const devices = onDevices.get(version.id);
  return new Map([
    ...(typeof heldOut === "number" ? [[line, heldOut] as const] : []),
    ...(devices === undefined ? [] : [[t`${line}, on devices`, devices] as const]),
  ]);
}

function lineOf({ role, lineage }: Version): string {
  if (role === "cloud") return lineage === "" ? t`cloud model` : t`cloud model of ${lineage}`;
  return lineage === "" ? t`device model` : t`device model of ${lineage}`;
}
