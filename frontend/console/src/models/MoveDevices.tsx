import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { AskWhy } from "../components/AskWhy";
import { t } from "../language/t";
import { called, championOf, formerOf, holdersQuery, moveOf } from "./holders";
import { type Graph, nameOf, PAIRS, type Pair, VERSIONS, type Version } from "./queries";

const CHANGES = [PAIRS, VERSIONS];

/** Gives devices the version again that the one in use came of. */
export function RollBack({ pair, graph }: { pair: Pair; graph: Graph | undefined }) {
  const { data: holders } = useQuery(holdersQuery(pair.id));
  const [why, say] = useState("");
  const current = graph?.versions.find(({ id }) => id === pair.device_champion);
  const former = graph === undefined || current === undefined ? undefined : formerOf(graph, current);
  const moves =
    current === undefined || former === undefined || holders === undefined
      ? t`Devices get the version that the one in use came of.`
      : moveOf(current, former, holders.get(current.id) ?? 0);
  return (
    <Action
      action="registry.roll_back"
      label="Roll the devices back"
      blocked={pair.device_champion === null ? t`No version is in use yet.` : undefined}
      confirm={
        <AskWhy
          says={t`${moves} The newer one stays, and can be used again.`}
          where={t`everybody reads it in the audit log, and on the charts of the federation`}
          why={why}
          onWhy={say}
        />
      }
      done={
        former === undefined
          ? t`Devices get the earlier version at their next check-in.`
          : t`Devices get ${called(former)} at their next check-in.`
      }
      changes={CHANGES}
      onDone={() => say("")}
      call={(via) =>
        api.POST("/api/pairs/{id}/champion/", {
          params: { path: { id: pair.id } },
          body: { role: "device", lineage: "", version: former?.id ?? null, why },
          ...via,
        })
      }
    />
  );
}

interface Props {
  readonly pair: string;
  readonly version: Version;
  /** Where the one in use is found. */
  readonly versions: readonly Version[];
}

/** Gives whoever follows a version's lineage that version. */
export function UseVersion({ pair, version, versions }: Props) {
  const { data: holders } = useQuery(holdersQuery(pair));
  const [why, say] = useState("");
  const current = championOf(versions, version);
  const moves =
    version.role !== "device" || current === undefined || holders === undefined
      ? t`Whoever follows this lineage gets ${nameOf(version)}.`
      : moveOf(current, version, holders.get(current.id) ?? 0);
  return (
    <Action
      action="registry.roll_back"
      label="Use this version"
      primary
      blocked={
        version.champion
          ? t`It is in use.`
          : version.archived_at === null
            ? undefined
            : t`It is archived; restore it first.`
      }
      confirm={
        <AskWhy
          says={t`${moves} An open round on another base is abandoned.`}
          where={t`everybody reads it in the audit log, and on the charts of the federation`}
          why={why}
          onWhy={say}
        />
      }
      done={t`${nameOf(version)} is in use.`}
      changes={CHANGES}
      onDone={() => say("")}
      call={(via) =>
        api.POST("/api/pairs/{id}/champion/", {
          params: { path: { id: pair } },
          body: { role: version.role, lineage: version.lineage, version: version.id, why },
          ...via,
        })
      }
    />
  );
}
