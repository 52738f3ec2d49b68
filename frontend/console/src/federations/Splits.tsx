import { Code, Table, Text } from "@mantine/core";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { SaveCsv } from "../table/SaveCsv";
import type { Split } from "./division";

const SHOWN = 8;

/** What rounds found when they compared the devices' models, youngest first, and why. */
export function Splits({ splits }: { splits: readonly Split[] }) {
  const [latest] = splits;
  const rows = splits.map((split) => [split.round_number, split.groups, split.reason_sentence, split.at]);
  return (
    <Panel
      title={latest?.groups === 1 ? "One model serves all, because" : "Divided so, because"}
      tools={<SaveCsv title="Splits" header={["round", "groups", "reason", "at"]} rows={rows} />}
    >
      <Table.ScrollContainer minWidth={420} type="native" tabIndex={0}>
        <Table verticalSpacing={6} aria-label="Splits">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Round</Table.Th>
              <Table.Th ta="end">Groups</Table.Th>
              <Table.Th>Why</Table.Th>
              <Table.Th>When</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {splits.slice(0, SHOWN).map((split) => (
              <Table.Tr key={split.id} fw={split === latest ? 550 : undefined}>
                <Table.Td>{split.round_number}</Table.Td>
                <Table.Td ta="end">{split.groups}</Table.Td>
                <Table.Td>
                  <Text size="sm" component="span">
                    {split.reason_sentence}
                  </Text>{" "}
                  <Code>{split.reason_code}</Code>
                </Table.Td>
                <Table.Td>
                  <When at={split.at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="var(--quiet)" mt="xs">
        A silhouette says how well a division separates the models: 1 is perfectly, 0 is not at all.
      </Text>
    </Panel>
  );
}
