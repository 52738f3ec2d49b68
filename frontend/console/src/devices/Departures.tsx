import { Anchor, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { FROM_NOTHING } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { Answer } from "../components/Answer";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { bytes } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { daily, KINDS, totals } from "./daily";
import { type Departure, departuresQuery } from "./queries";

const SHOWN = 10;
const HEADER = ["what", "how many", "bytes", "when", "federation", "for"];

/** Everything that left the device in the last thirty days, by kind and size; samples never do. */
export function Departures({ id }: { id: string }) {
  const answer = useQuery(departuresQuery(id));
  const rows = (answer.data ?? []).map((one) => [
    one.kind,
    one.count,
    one.size_bytes,
    one.at,
    one.federation_name,
    one.target_name,
  ]);
  return (
    <Panel title="What left the device" tools={<SaveCsv title="What left the device" header={HEADER} rows={rows} />}>
      <Answer of={answer} height={200}>
        {(departures) =>
          departures.length === 0 ? (
            <Text size="sm" c="var(--quiet)">
              Nothing to be learned from in the last thirty days: no update, no portion of its model, no count of its
              data.
            </Text>
          ) : (
            <Departed departures={departures} />
          )
        }
      </Answer>
    </Panel>
  );
}

function Departed({ departures }: { departures: readonly Departure[] }) {
  const { times, series } = useMemo(() => daily(departures), [departures]);
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="lg">
        {KINDS.map(({ kind, words }) => {
          const sum = totals(departures, kind);
          return <Figure key={kind} value={bytes(sum.bytes)} label={words} detail={`${sum.count} in thirty days`} />;
        })}
      </SimpleGrid>
      {times.length > 1 && (
        <TimeChart title="Bytes each day" times={times} series={series} format={bytes} bounds={FROM_NOTHING} />
      )}
      <SmallTable
        label="What left the device"
        columns={COLUMNS}
        rows={departures.slice(0, SHOWN)}
        rowKey={(one) => `${one.kind} ${one.at}`}
        minWidth={420}
      />
    </Stack>
  );
}

const COLUMNS: readonly SmallColumn<Departure>[] = [
  { header: "What", cell: named },
  { header: "Size", align: "end", cell: (one) => bytes(one.size_bytes) },
  {
    header: "To",
    cell: (one) =>
      one.target === null ? (
        one.federation_name
      ) : (
        <Anchor component={Link} to={`/devices/${one.target}`} size="sm">
          {one.target_name}
        </Anchor>
      ),
  },
  { header: "When", cell: (one) => <When at={one.at} /> },
];

function named({ kind, count }: Departure): string {
  if (kind === "update") return t`an update`;
  if (kind === "portion") return t`a portion of its model`;
  return count === 1 ? t`a profile of its data` : t`${count} profiles of its data`;
}
