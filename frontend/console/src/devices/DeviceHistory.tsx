import { Anchor, Grid, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { TimeChart } from "../chart/TimeChart";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { bytes, duration, percent } from "../components/units";
import { When } from "../components/When";
import { partsQuery } from "./queries";

const SHOWN = 10;

/** The rounds it took part in: accuracy on its own samples, what it sent, how long it trained. */
export function DeviceHistory({ id }: { id: string }) {
  const { data } = useQuery(partsQuery(id));
  const delivered = useMemo(
    () => (data?.results ?? []).flatMap((part) => (part.delivered === null ? [] : [part.delivered])).reverse(),
    [data],
  );
  const times = useMemo(() => delivered.map((update) => Date.parse(update.received_at) / 1000), [delivered]);
  const accuracy = useMemo(
    () => [{ label: "accuracy", values: delivered.map((update) => update.accuracy_before) }],
    [delivered],
  );
  const sent = useMemo(() => [{ label: "sent", values: delivered.map((update) => update.size_bytes) }], [delivered]);
  if (data === undefined) return null;
  if (data.count === 0) {
    return (
      <Panel title="Rounds">
        <Text size="sm" c="var(--quiet)">
          It has not been asked to take part in a round yet.
        </Text>
      </Panel>
    );
  }
  return (
    <>
      {delivered.length > 1 && (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Panel title="How its model did">
              <TimeChart
                title="Accuracy on its own held-out samples, before each round"
                times={times}
                series={accuracy}
                format={percent}
              />
            </Panel>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Panel title="What left the device">
              <TimeChart title="Bytes of each update" times={times} series={sent} format={bytes} />
            </Panel>
          </Grid.Col>
        </Grid>
      )}
      <Panel title="Rounds">
        <Table.ScrollContainer minWidth={640} type="native" tabIndex={0}>
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Round</Table.Th>
                <Table.Th>Its part</Table.Th>
                <Table.Th ta="end">Sent</Table.Th>
                <Table.Th ta="end">Samples</Table.Th>
                <Table.Th ta="end">Trained for</Table.Th>
                <Table.Th>When</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.results.slice(0, SHOWN).map((part) => (
                <Table.Tr key={part.id}>
                  <Table.Td>
                    <Anchor component={Link} to={`/federations/${part.federation}/rounds/${part.round}`} size="sm">
                      {part.federation_slug}, round {part.round_number}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    <State of={part.state} />
                    {part.reason_sentence !== "" && (
                      <Text size="xs" c="var(--quiet)">
                        {part.reason_sentence}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td ta="end">{part.delivered === null ? "–" : bytes(part.delivered.size_bytes)}</Table.Td>
                  <Table.Td ta="end">{part.delivered?.samples.toLocaleString() ?? "–"}</Table.Td>
                  <Table.Td ta="end">{part.delivered === null ? "–" : duration(part.delivered.train_s)}</Table.Td>
                  <Table.Td>
                    <When at={part.changed_at} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Panel>
    </>
  );
}
