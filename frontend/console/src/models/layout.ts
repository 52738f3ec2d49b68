import type { Graph, Version } from "./queries";

export interface Place {
  readonly version: Version;
  readonly x: number;
  readonly y: number;
}

export const STEP_X = 190;
const STEP_Y = 96;

/** Where each version stands: time runs to the right, each model and each group has a line of its own. */
export function placesOf(graph: Graph): readonly Place[] {
  const lines = [...new Set(graph.versions.map(lineOf))].sort();
  const column = new Map<string, number>();
  const next = new Map<string, number>();
  const parents = new Map(graph.edges.map((edge) => [edge.to_version, edge.from_version]));
  return graph.versions.map((version) => {
    const line = lineOf(version);
    const after = parents.get(version.id);
    const least = after === undefined ? 0 : (column.get(after) ?? -1) + 1;
    const at = Math.max(least, next.get(line) ?? 0);
    column.set(version.id, at);
    next.set(line, at + 1);
    return { version, x: at * STEP_X, y: lines.indexOf(line) * STEP_Y };
  });
}

function lineOf(version: Version): string {
  return `${version.role} ${version.lineage}`;
}
