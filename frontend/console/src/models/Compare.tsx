import { Alert, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Failed } from "../components/Failed";
import { Loading } from "../components/Loading";
import { comparisonQuery, nameOf } from "./queries";

/** Two versions side by side. */
export function Compare({ first, second }: { first: string; second: string }) {
  const { data, error, refetch } = useQuery(comparisonQuery(first, second));
  if (error !== null) return <Failed error={error} retry={refetch} />;
  if (data === undefined) return <Loading />;
  if (data.figures.length === 0) {
    return (
      <Alert variant="light" color="gray">
        <Text size="sm">Nothing was measured of either.</Text>
      </Alert>
    );
  }
  return (
    <Table.ScrollContainer minWidth={420} type="native" tabIndex={0}>
      <Table verticalSpacing={5} aria-label="Comparison">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Figure</Table.Th>
            <Table.Th ta="end">{nameOf(data.first)}</Table.Th>
            <Table.Th ta="end">{nameOf(data.second)}</Table.Th>
            <Table.Th ta="end">Difference</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {data.figures.map((figure) => (
            <Table.Tr key={figure.name}>
              <Table.Td>{figure.name.replaceAll("_", " ")}</Table.Td>
              <Table.Td ta="end">{number(figure.first)}</Table.Td>
              <Table.Td ta="end">{number(figure.second)}</Table.Td>
              <Table.Td ta="end">{figure.difference === null ? "–" : signed(figure.difference)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const FIGURES = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function number(value: number | null): string {
  return value === null ? "–" : FIGURES.format(value);
}

function signed(value: number): string {
  return value > 0 ? `+${FIGURES.format(value)}` : FIGURES.format(value);
}
