import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { t } from "../language/t";
import { type Ensemble, ensemblesQuery, nameOf, type Version } from "./queries";

/** What the boosted trees of a version are; nothing where the model has none. */
export function Ensembles({ version }: { version: Version }) {
  const { data: ensembles = [] } = useQuery(ensemblesQuery(version.id));
  if (ensembles.length === 0) return null;
  return (
    <Panel title={`Trees of ${nameOf(version)}`}>
      <Stack gap="lg">
        {ensembles.map((ensemble) => (
          <Trees key={ensemble.name} ensemble={ensemble} />
        ))}
      </Stack>
    </Panel>
  );
}

function Trees({ ensemble }: { ensemble: Ensemble }) {
  const { name, trees, levels, deepest, columns } = ensemble;
  const grown = counted(ensemble.grown);
  const growth = trees === 1 ? t`${grown} of 1 tree has grown` : t`${grown} of ${counted(trees)} trees have grown`;
  const depth = levels === 1 ? t`${deepest} of 1 level deep` : t`${deepest} of ${counted(levels)} levels deep`;
  const leaves = ensemble.leaves === 1 ? t`1 leaf` : t`${counted(ensemble.leaves)} leaves`;
  return (
    <Stack gap="xs">
      <Text size="sm">
        {name !== "" && `${name}: `}
        {t`${growth}, ${depth}, with ${leaves}.`}
      </Text>
      {columns.length > 0 && (
        <Table.ScrollContainer minWidth={320}>
          <Table>
            <Table.Caption>The most used first. How much each split gained is not kept in a version.</Table.Caption>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Column</Table.Th>
                <Table.Th>Splits by it</Table.Th>
                <Table.Th>Of these, first of a tree</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {columns.map((column) => (
                <Table.Tr key={column.number}>
                  <Table.Td>{column.number}</Table.Td>
                  <Table.Td>{counted(column.splits)}</Table.Td>
                  <Table.Td>{counted(column.first_levels)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}
