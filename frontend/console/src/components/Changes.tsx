import { Table, Text } from "@mantine/core";

/** Values before and after, by name; only those that differ. */
export function Changes({
  before,
  after,
}: {
  before: Readonly<Record<string, unknown>>;
  after: Readonly<Record<string, unknown>>;
}) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  if (names.length === 0) return <Text size="sm">Nothing that is kept was changed.</Text>;
  return (
    <Table verticalSpacing={4} fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>What</Table.Th>
          <Table.Th>Before</Table.Th>
          <Table.Th>After</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {names.map((name) => (
          <Table.Tr key={name}>
            <Table.Td>{name.replaceAll("_", " ")}</Table.Td>
            <Table.Td c="var(--quiet)">{written(before[name])}</Table.Td>
            <Table.Td>{written(after[name])}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function written(value: unknown): string {
  if (value === undefined || value === null || value === "") return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}
