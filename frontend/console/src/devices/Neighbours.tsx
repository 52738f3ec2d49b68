import { Anchor, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { BarChart } from "../chart/BarChart";
import { Failed } from "../components/Failed";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { SaveCsv } from "../table/SaveCsv";
import classes from "./Neighbours.module.css";
import { type Neighbourhood, neighboursQuery } from "./queries";

type Shares = Neighbourhood["own"];

/** What classes the device meets, beside the devices that meet the most similar ones; in each federation it told. */
export function Neighbours({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(neighboursQuery(id));
  if (data === undefined && error !== null) return <Failed error={error} retry={refetch} />;
  return data?.map((one) => <Neighbouring key={one.federation} of={one} />);
}

function Neighbouring({ of: { federation_slug, labels, own, neighbours } }: { of: Neighbourhood }) {
  const series = useMemo(() => {
    const mean = labels.map((_label, place) => average(neighbours.map(({ prior }) => prior[place] ?? 0)));
    return [
      ...(neighbours.length > 0 ? [{ label: "its neighbours, on average", values: mean }] : []),
      { label: own.device_name, values: own.prior },
    ];
  }, [labels, own, neighbours]);
  const rows = [own, ...neighbours].map((one) => [
    one.device_name,
    one.divergence,
    one.error ?? "",
    ...labels.map((_label, place) => one.prior[place] ?? 0),
  ]);
  return (
    <Panel
      title={`What it meets, and who meets the same: ${federation_slug}`}
      tools={<SaveCsv title="Class shares" header={["device", "divergence in bits", "error", ...labels]} rows={rows} />}
    >
      <Stack gap="md">
        <BarChart title="Share of each class in its newest batches" names={labels} series={series} format={percent} />
        {neighbours.length === 0 ? (
          <Text size="sm" c="var(--quiet)">
            No other device of the federation has told what its data are like.
          </Text>
        ) : (
          <Table.ScrollContainer minWidth={280 + 56 * labels.length} type="native" tabIndex={0}>
            <Table verticalSpacing={6} aria-label="Class shares">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Device</Table.Th>
                  <Table.Th ta="end">Apart</Table.Th>
                  <Table.Th ta="end">Error</Table.Th>
                  {labels.map((label) => (
                    <Table.Th key={label} ta="end">
                      {label}
                    </Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                <Row of={own} labels={labels} own />
                {neighbours.map((one) => (
                  <Row key={one.device} of={one} labels={labels} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
        <Text size="xs" c="var(--quiet)">
          Apart is the Jensen-Shannon divergence of the class shares: 0 bits are alike, 1 bit has nothing in common.
          Devices tell counts, never samples.
        </Text>
      </Stack>
    </Panel>
  );
}

function Row({ of: one, labels, own = false }: { of: Shares; labels: readonly string[]; own?: boolean }) {
  return (
    <Table.Tr fw={own ? 550 : undefined}>
      <Table.Td>
        {own ? (
          one.device_name
        ) : (
          <Anchor component={Link} to={`/devices/${one.device}`} size="sm">
            {one.device_name}
          </Anchor>
        )}
        {one.drifting && (
          <Text size="xs" c="var(--wait)">
            drifting
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="end">{own ? "–" : one.divergence.toFixed(3)}</Table.Td>
      <Table.Td ta="end">{one.error === null ? "untold" : percent(one.error)}</Table.Td>
      {labels.map((label, place) => (
        <Table.Td key={label} ta="end" className={classes.share} style={{ "--share": one.prior[place] ?? 0 }}>
          {(100 * (one.prior[place] ?? 0)).toFixed(0)}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
}
