import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import { counted } from "../components/units";
import { t } from "../language/t";
import { type Graph, VERSIONS, type Version } from "./queries";

const MOST = 500;

/** How many devices hold each of a pair's newest versions. */
export function holdersQuery(pair: string) {
  const query = { pair, role: "device", sort: "-created_at", page_size: MOST } as const;
  return queryOptions({
    queryKey: [...VERSIONS, "holders", pair],
    queryFn: async ({ signal }) => {
      const { data } = await api.GET("/api/version-figures/", { params: { query }, signal });
      return new Map(data?.results.map(({ version, devices }) => [version, devices]));
    },
  });
}

/** Which of some versions is in use where another would be used. */
export function championOf(versions: readonly Version[], instead: Version): Version | undefined {
  return versions.find(
    ({ champion, role, lineage }) => champion && role === instead.role && lineage === instead.lineage,
  );
}

/** The version that the one in use came of, in its lineage; undefined: there is none, or it is not in the graph. */
export function formerOf(graph: Pick<Graph, "versions" | "edges">, current: Version): Version | undefined {
  const parents = new Set(graph.edges.flatMap((edge) => (edge.to_version === current.id ? [edge.from_version] : [])));
  return graph.versions.find(
    ({ id, role, lineage }) => parents.has(id) && role === current.role && lineage === current.lineage,
  );
}

/** What moving devices from one version to another does. */
export function moveOf(from: Version, to: Version, devices: number): string {
  return devices === 1
    ? t`1 device holds ${called(from)} and gets ${called(to)} at its next check-in.`
    : t`${counted(devices)} devices hold ${called(from)} and get ${called(to)} at their next check-in.`;
}

/** A version in a sentence about devices, which have no others. */
export function called({ name, number }: Version): string {
  return name === "" ? t`version ${number}` : t`version ${number} (${name})`;
}
