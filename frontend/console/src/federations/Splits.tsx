import { Code, Text } from "@mantine/core";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import type { Split } from "./division";

const SHOWN = 8;
const COLUMNS: readonly SmallColumn<Split>[] = [
  { header: "Round", cell: (split) => split.round_number },
  { header: "Groups", align: "end", cell: (split) => split.groups },
  {
    header: "Why",
    cell: (split) => (
      <>
        {split.reason_sentence} <Code>{split.reason_code}</Code>
      </>
    ),
  },
  { header: "When", cell: (split) => <When at={split.at} /> },
];

/** What rounds found when they compared the devices' models, youngest first, and why. */
export function Splits({ splits }: { splits: readonly Split[] }) {
  const [latest] = splits;
  const rows = splits.map((split) => [split.round_number, split.groups, split.reason_sentence, split.at]);
  return (
    <Panel
      title={latest?.groups === 1 ? "One model serves all, because" : "Divided so, because"}
      tools={<SaveCsv title="Splits" header={["round", "groups", "reason", "at"]} rows={rows} />}
    >
      <SmallTable
        label="Splits"
        columns={COLUMNS}
        rows={splits.slice(0, SHOWN)}
        rowKey={(split) => String(split.id)}
        minWidth={420}
        strong={(split) => split === latest}
      />
      <Text size="xs" c="var(--quiet)" mt="xs">
        A silhouette says how well a division separates the models: 1 is perfectly, 0 is not at all.
      </Text>
    </Panel>
  );
}
