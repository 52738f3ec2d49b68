import { Table, Text } from "@mantine/core";
import { differences, pathWords, valueWords } from "./difference";

/** What a changed plan does differently from the one that runs. */
export function PlanDifference({ before, after }: { before: unknown; after: unknown }) {
  const found = differences(before, after);
  if (found.length === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        Nothing is changed: this is the plan that runs.
      </Text>
    );
  }
  return (
    <Table verticalSpacing={4} fz="sm" aria-label="What changes">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>What</Table.Th>
          <Table.Th>Runs</Table.Th>
          <Table.Th>Then</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {found.map(({ path, before: old, after: next }) => (
          <Table.Tr key={path}>
            <Table.Td title={path}>{pathWords(path)}</Table.Td>
            <Table.Td c="var(--quiet)">{valueWords(path, old)}</Table.Td>
            <Table.Td>{valueWords(path, next)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
