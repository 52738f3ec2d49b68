import type { Version } from "./queries";

/** Lines of one chart: each lineage's accuracies at the times at which any version was made. */
export interface Accuracies {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
}

/** Lines that can be told from one another. */
const MOST_LINES = 6;

/** Of versions, oldest first, those that were measured; the lineages with the most of them. */
export function accuraciesOf(versions: readonly Version[]): Accuracies {
  const measured = versions.flatMap((version) => {
    const accuracy = (version.metrics as Readonly<Record<string, unknown>> | null)?.accuracy;
    return typeof accuracy === "number"
      ? [{ line: lineOf(version), at: Date.parse(version.created_at) / 1000, accuracy }]
      : [];
  });
  const sizes = new Map<string, number>();
  for (const { line } of measured) sizes.set(line, (sizes.get(line) ?? 0) + 1);
  const lines = [...sizes]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MOST_LINES)
    .map(([line]) => line);
  const shown = measured.filter(({ line }) => lines.includes(line));
  return {
    times: shown.map(({ at }) => at),
    series: lines.map((label) => ({
      label,
      values: shown.map(({ line, accuracy }) => (line === label ? accuracy : null)),
    })),
  };
}

function lineOf({ role, lineage }: Version): string {
  return lineage === "" ? `${role} model` : `${role} model of ${lineage}`;
}
