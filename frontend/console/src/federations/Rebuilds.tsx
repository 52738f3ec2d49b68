import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { bytes, counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type Rebuild, rebuildsQuery } from "./queries";

const COLUMNS: readonly SmallColumn<Rebuild>[] = [
  { header: "State", cell: (one) => <State of={one.state} /> },
  { header: "What it has come to", cell: (one) => one.sentence },
  {
    header: "Version",
    align: "end",
    cell: (one) =>
      one.result_version !== null && (
        <Link to="/models/versions/$id" params={{ id: one.result_version }}>
          {one.result_number}
        </Link>
      ),
  },
  {
    header: "Merges repeated",
    align: "end",
    cell: (one) => t`${counted(one.repeated)} of ${counted(one.to_repeat)}`,
  },
  { header: "Removed", align: "end", cell: (one) => bytes(one.retired_bytes) },
  { header: "Asked", cell: (one) => <When at={one.asked_at} /> },
];

/** Where the plan promises it: how the lineage is made again without devices that were forgotten. */
export function Rebuilds({ federation }: { federation: string }) {
  return (
    <Answer of={useQuery(rebuildsQuery(federation))}>
      {({ results }) =>
        results.length > 0 && (
          <Panel title="Rebuilt without forgotten devices">
            <SmallTable
              label="Rebuilds"
              columns={COLUMNS}
              rows={results}
              rowKey={(one) => one.id}
              minWidth={560}
              strong={(one) => one.state !== "done"}
            />
            <Text size="xs" c="var(--quiet)" mt="xs">
              Which devices these were is not shown; each owner&apos;s receipt says the same.
            </Text>
          </Panel>
        )
      }
    </Answer>
  );
}
