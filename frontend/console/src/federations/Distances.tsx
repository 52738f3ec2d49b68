import { Text } from "@mantine/core";
import { Panel } from "../components/Panel";
import { distance } from "../components/units";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import type { Split } from "./division";

/** How far apart the models of any two groups are, and those of one among themselves. */
export function Distances({ of: split }: { of: Split }) {
  const names = Object.keys(split.distances);
  const between = (one: string, other: string) => split.distances[one]?.[other] ?? 0;
  const farthest = Math.max(...names.flatMap((one) => names.map((other) => between(one, other))));
  const rows = names.map((one) => [one, ...names.map((other) => between(one, other))]);
  const columns: readonly SmallColumn<string>[] = [
    { header: "Group", cell: (one) => one },
    ...names.map((other) => ({
      header: other,
      align: "end" as const,
      cell: (one: string) => distance(between(one, other)),
      tint: (one: string) => (farthest === 0 ? 0 : between(one, other) / farthest),
    })),
  ];
  return (
    <Panel
      title="How far the groups are apart"
      tools={<SaveCsv title="Distances of groups" header={["group", ...names]} rows={rows} />}
    >
      <SmallTable label="Distances of groups" columns={columns} rows={names} rowKey={(one) => one} minWidth={280} />
      <Text size="xs" c="var(--quiet)" mt="xs">
        Of what their models say about the same samples, on average, in nats. On the diagonal: within a group.
      </Text>
    </Panel>
  );
}
