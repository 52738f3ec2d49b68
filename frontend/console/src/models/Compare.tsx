import { Alert, Grid, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Answer } from "../components/Answer";
import { Loading } from "../components/Loading";
import { percent } from "../components/units";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { inOrder, writtenOf } from "./figures";
import { type Comparison, comparisonQuery, nameOf } from "./queries";

const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));

type Line = Comparison["figures"][number] & { readonly format: (value: number) => string };

/** A version beside the one that it is held against: how good, how large, how quick, and how good at each class. */
export function Compare({ version, against }: { version: string; against: string }) {
  return (
    <Answer of={useQuery(comparisonQuery(against, version))} height={240}>
      {(data) => <Compared of={data} />}
    </Answer>
  );
}

function Compared({ of: data }: { of: Comparison }) {
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

function Figures({ of: { first, second, figures } }: { of: Comparison }) {
  const lines = inOrder(figures.map(({ name }) => name)).flatMap((name) => {
    const { words, format } = writtenOf(name);
    return figures.filter((figure) => figure.name === name).map((figure) => ({ ...figure, name: words, format }));
  });
  return <SideBySide label="Figures" header="Figure" names={[nameOf(first), nameOf(second)]} lines={lines} />;
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
      <SideBySide
        label="Accuracy by class"
        header="Class"
        names={[nameOf(data.first), nameOf(data.second)]}
        lines={data.classes.map((figure) => ({ ...figure, format: percent }))}
      />
    </Stack>
  );
}

interface SideBySideProps {
  readonly label: string;
  readonly header: string;
  readonly names: readonly [string, string];
  readonly lines: readonly Line[];
}

function SideBySide({ label, header, names: [one, other], lines }: SideBySideProps) {
  const columns: readonly SmallColumn<Line>[] = [
    { header, cell: ({ name }) => name },
    { header: one, align: "end", cell: ({ first, format }) => (first === null ? "–" : format(first)) },
    { header: other, align: "end", cell: ({ second, format }) => (second === null ? "–" : format(second)) },
    {
      header: "Change",
      align: "end",
      cell: ({ difference, format }) => (difference === null ? "–" : signed(difference, format)),
    },
  ];
  const rows = lines.map(({ name, first, second, difference }) => [
    name,
    ...[first, second, difference].map((value) => value ?? ""),
  ]);
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={550}>
          {label}
        </Text>
        <SaveCsv title={label} header={columns.map((column) => column.header)} rows={rows} />
      </Group>
      <SmallTable label={label} columns={columns} rows={lines} rowKey={({ name }) => name} minWidth={380} />
    </div>
  );
}

function signed(value: number, format: (value: number) => string): string {
  if (value === 0) return format(0);
  return `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}
