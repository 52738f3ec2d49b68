import { Anchor, SimpleGrid, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { TimeChart } from "../chart/TimeChart";
import { Failed } from "../components/Failed";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { bytes } from "../components/units";
import { When } from "../components/When";
import { SaveCsv } from "../table/SaveCsv";
import { daily, KINDS, totals } from "./daily";
import { type Departure, departuresQuery } from "./queries";

const SHOWN = 10;
const HEADER = ["what", "how many", "bytes", "when", "federation", "for"];

/** Everything that left the device in the last thirty days, by kind and size; samples never do. */
export function Departures({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(departuresQuery(id));
  const { times, series } = useMemo(() => daily(data ?? []), [data]);
  const rows = (data ?? []).map((one) => [
    one.kind,
    one.count,
    one.size_bytes,
    one.at,
    one.federation_slug,
    one.target_name,
  ]);
  return (
    <Panel title="What left the device" tools={<SaveCsv title="What left the device" header={HEADER} rows={rows} />}>
      {data === undefined && error !== null && <Failed error={error} retry={refetch} />}
      {data === undefined && error === null && <Skeleton height={200} />}
      {data?.length === 0 && (
        <Text size="sm" c="var(--quiet)">
          Nothing but its check-ins in the last thirty days: no update, no portion of its model, no count of its data.
        </Text>
      )}
      {data !== undefined && data.length > 0 && (
        <Stack gap="md">
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="lg">
            {KINDS.map(({ kind, words }) => {
              const sum = totals(data, kind);
              return (
                <Figure key={kind} value={bytes(sum.bytes)} label={words} detail={`${sum.count} in thirty days`} />
              );
            })}
          </SimpleGrid>
          {times.length > 1 && <TimeChart title="Bytes each day" times={times} series={series} format={bytes} />}
          <Latest departures={data.slice(0, SHOWN)} />
        </Stack>
      )}
    </Panel>
  );
}

function Latest({ departures }: { departures: readonly Departure[] }) {
  return (
    <Table.ScrollContainer minWidth={420} type="native" tabIndex={0}>
      <Table verticalSpacing={6} aria-label="What left the device">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>What</Table.Th>
            <Table.Th ta="end">Size</Table.Th>
            <Table.Th>To</Table.Th>
            <Table.Th>When</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {departures.map((one) => (
            <Table.Tr key={`${one.kind} ${one.at}`}>
              <Table.Td>{named(one)}</Table.Td>
              <Table.Td ta="end">{bytes(one.size_bytes)}</Table.Td>
              <Table.Td>
                {one.target === null ? (
                  one.federation_slug
                ) : (
                  <Anchor component={Link} to={`/devices/${one.target}`} size="sm">
                    {one.target_name}
                  </Anchor>
                )}
              </Table.Td>
              <Table.Td>
                <When at={one.at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function named({ kind, count }: Departure): string {
  if (kind === "update") return "an update";
  if (kind === "portion") return "a portion of its model";
  return count === 1 ? "a profile of its data" : `${count} profiles of its data`;
}
