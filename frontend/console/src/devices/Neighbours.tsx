import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { BarChart } from "../chart/BarChart";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { distance, percent } from "../components/units";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type Neighbourhood, neighboursQuery } from "./queries";

type Shares = Neighbourhood["own"];

/** What classes the device meets, beside the devices that meet the most similar ones; in each federation it told. */
export function Neighbours({ id }: { id: string }) {
  return (
    <Answer of={useQuery(neighboursQuery(id))} height={240}>
      {(found) => found.map((one) => <Neighbouring key={one.federation} of={one} />)}
    </Answer>
  );
}

function Neighbouring({ of: { federation_name, labels, own, neighbours } }: { of: Neighbourhood }) {
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
      title={`What it meets, and who meets the same: ${federation_name}`}
      tools={<SaveCsv title="Class shares" header={["device", "divergence in bits", "error", ...labels]} rows={rows} />}
    >
      <Stack gap="md">
        <BarChart
          title="Share of each class in its newest batches"
          names={labels}
          series={series}
          format={percent}
          most={1}
        />
        {neighbours.length === 0 ? (
          <Text size="sm" c="var(--quiet)">
            No other device of the federation has told what its data are like.
          </Text>
        ) : (
          <SmallTable
            label="Class shares"
            columns={columnsOf(own, labels)}
            rows={[own, ...neighbours]}
            rowKey={(one) => one.device}
            minWidth={280 + 56 * labels.length}
            strong={(one) => one === own}
          />
        )}
        <Text size="xs" c="var(--quiet)">
          Apart is the Jensen-Shannon divergence of the class shares: 0 bits are alike, 1 bit has nothing in common.
          Devices tell counts, never samples.
        </Text>
      </Stack>
    </Panel>
  );
}

function columnsOf(own: Shares, labels: readonly string[]): readonly SmallColumn<Shares>[] {
  return [
    { header: "Device", cell: (one) => <Name of={one} own={one === own} /> },
    { header: "Apart", align: "end", cell: (one) => (one === own ? "–" : distance(one.divergence)) },
    { header: "Error", align: "end", cell: (one) => (one.error === null ? t`untold` : percent(one.error)) },
    ...labels.map((label, place) => ({
      header: label,
      align: "end" as const,
      cell: (one: Shares) => (100 * (one.prior[place] ?? 0)).toFixed(0),
      tint: (one: Shares) => Math.min(1, 2 * (one.prior[place] ?? 0)),
    })),
  ];
}

function Name({ of: one, own }: { of: Shares; own: boolean }) {
  return (
    <>
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
    </>
  );
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
}
