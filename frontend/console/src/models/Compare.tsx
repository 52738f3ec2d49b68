import { Alert, Grid, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Failed } from "../components/Failed";
import { Loading } from "../components/Loading";
import { bytes, duration, percent } from "../components/units";
import { SaveCsv } from "../table/SaveCsv";
import { type Comparison, comparisonQuery, nameOf } from "./queries";

const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));

type Figure = Comparison["figures"][number];

/** What people compare first, in this order, as they read it; whatever else was measured follows. */
const WRITTEN: Readonly<Record<string, { words: string; format: (value: number) => string }>> = {
  accuracy: { words: "accuracy on held-out samples", format: percent },
  validation_accuracy: { words: "accuracy on samples held back", format: percent },
  device_accuracy: { words: "accuracy on devices’ own samples", format: percent },
  size_bytes: { words: "size", format: bytes },
  train_step_s: { words: "train step on devices", format: duration },
  devices_holding: { words: "devices that hold it", format: (count) => count.toLocaleString() },
};
const FIRST = Object.keys(WRITTEN);

/** Two versions side by side: how good, how large, how quick, and how good at each class. */
export function Compare({ first, second }: { first: string; second: string }) {
  const { data, error, refetch } = useQuery(comparisonQuery(first, second));
  if (data === undefined && error !== null) return <Failed error={error} retry={refetch} />;
  if (data === undefined) return <Loading />;
  if (data.figures.length === 0) {
    return (
      <Alert variant="light" color="gray">
        <Text size="sm">Nothing was measured of either.</Text>
      </Alert>
    );
  }
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Figures of={data} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 7 }}>
        {data.classes.length === 0 ? (
          <Text size="sm" c="var(--quiet)">
            Accuracy by class is there of versions that were measured on held-out samples, or on samples held back.
          </Text>
        ) : (
          <Classes of={data} />
        )}
      </Grid.Col>
    </Grid>
  );
}

function Figures({ of: data }: { of: Comparison }) {
  const figures = useMemo(() => [...data.figures].sort((one, other) => rank(one) - rank(other)), [data.figures]);
  return (
    <Compared
      label="Comparison"
      header="Figure"
      names={[nameOf(data.first), nameOf(data.second)]}
      figures={figures.map((figure) => ({ ...figure, name: WRITTEN[figure.name]?.words ?? words(figure.name) }))}
      formats={figures.map((figure) => WRITTEN[figure.name]?.format ?? number)}
    />
  );
}

function Classes({ of: data }: { of: Comparison }) {
  const names = useMemo(() => data.classes.map((figure) => figure.name), [data.classes]);
  const series = useMemo(
    () => [
      { label: nameOf(data.first), values: data.classes.map((figure) => figure.first) },
      { label: nameOf(data.second), values: data.classes.map((figure) => figure.second) },
    ],
    [data],
  );
  return (
    <Stack gap="md">
      <Suspense fallback={<Loading />}>
        <BarChart title="Accuracy by class" names={names} series={series} format={percent} />
      </Suspense>
      <Compared
        label="Accuracy by class"
        header="Class"
        names={[nameOf(data.first), nameOf(data.second)]}
        figures={data.classes}
        formats={data.classes.map(() => percent)}
      />
    </Stack>
  );
}

interface ComparedProps {
  readonly label: string;
  readonly header: string;
  readonly names: readonly [string, string];
  readonly figures: readonly Figure[];
  readonly formats: readonly ((value: number) => string)[];
}

function Compared({ label, header, names, figures, formats }: ComparedProps) {
  const columns = [header, ...names, "Difference"];
  const rows = figures.map(({ name, first, second, difference }) => [
    name,
    ...[first, second, difference].map((value) => value ?? ""),
  ]);
  return (
    <Table.ScrollContainer minWidth={380} type="native" tabIndex={0}>
      <Table verticalSpacing={5} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>
              {header} <SaveCsv title={label} header={columns} rows={rows} />
            </Table.Th>
            {columns.slice(1).map((column) => (
              <Table.Th key={column} ta="end">
                {column}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {figures.map(({ name, first, second, difference }, row) => {
            const format = formats[row] ?? number;
            return (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td ta="end">{first === null ? "–" : format(first)}</Table.Td>
                <Table.Td ta="end">{second === null ? "–" : format(second)}</Table.Td>
                <Table.Td ta="end">{difference === null ? "–" : signed(difference, format)}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function rank({ name }: Figure): number {
  const place = FIRST.indexOf(name);
  return place === -1 ? FIRST.length : place;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

const FIGURES = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function number(value: number): string {
  return FIGURES.format(value);
}

function signed(value: number, format: (value: number) => string): string {
  if (value === 0) return format(0);
  return `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}
