import { Alert, Group, Stack, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Answer } from "../components/Answer";
import { Loading } from "../components/Loading";
import { percent, signed } from "../components/units";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { Mistakes } from "./Confusions";
import { type Compared, comparedOf, type Line } from "./compared";
import { confusionOf } from "./confusion";
import { comparisonQuery, nameOf } from "./queries";

const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));

interface Props {
  /** The version that the others are held against. */
  readonly baseline: string;
  readonly others: readonly string[];
  /** Names of the classes. */
  readonly labels: readonly string[];
}

/** Versions beside a baseline: how good, how large, how quick, how they fare on devices, and how good at each class. */
export function Compare({ baseline, others, labels }: Props) {
  const answers = useQueries({ queries: others.map((other) => comparisonQuery(baseline, other)) });
  const failed = answers.find(({ error }) => error !== null);
  const data = answers.flatMap((answer) => (answer.data === undefined ? [] : [answer.data]));
  const whole = {
    data: data.length === answers.length ? comparedOf(data) : undefined,
    error: failed?.error ?? null,
    refetch: () => failed?.refetch(),
  };
  return (
    <Answer of={whole} height={240}>
      {(compared) => <Shown of={compared} labels={labels} />}
    </Answer>
  );
}

interface ShownProps {
  readonly of: Compared;
  readonly labels: readonly string[];
}

function Shown({ of: { versions, figures, classes }, labels }: ShownProps) {
  const names = useMemo(() => versions.map(nameOf), [versions]);
  const measured = useMemo(() => classes.map(({ name }) => name), [classes]);
  const series = useMemo(
    () => names.map((label, nth) => ({ label, values: classes.map(({ values }) => values[nth] ?? null) })),
    [names, classes],
  );
  if (figures.length === 0) {
    return (
      <Alert variant="light" color="gray">
        <Text size="sm">Nothing was measured of any.</Text>
      </Alert>
    );
  }
  return (
    <Stack gap="lg">
      <SideBySide label="Figures" header="Figure" names={names} lines={figures} />
      {classes.length === 0 ? (
        <Text size="sm" c="var(--quiet)">
          Accuracy by class is there of versions that were measured on held-out samples, or on samples held back.
        </Text>
      ) : (
        <>
          <Suspense fallback={<Loading />}>
            <BarChart title="Accuracy by class" names={measured} series={series} format={percent} most={1} />
          </Suspense>
          <SideBySide label="Accuracy by class" header="Class" names={names} lines={classes} />
          <Mistakes versions={names} of={versions.map(({ metrics }) => confusionOf(metrics))} labels={labels} />
        </>
      )}
    </Stack>
  );
}

interface SideBySideProps {
  readonly label: string;
  readonly header: string;
  /** Of the versions, the baseline first. */
  readonly names: readonly string[];
  readonly lines: readonly Line[];
}

const COLUMN_PX = 150;

function SideBySide({ label, header, names, lines }: SideBySideProps) {
  const columns: readonly SmallColumn<Line>[] = [
    { header, cell: ({ name }) => name },
    ...names.map((name, nth) => ({
      header: nth === 0 ? `${name}, the baseline` : name,
      align: "end" as const,
      cell: (line: Line) => <Value line={line} nth={nth} />,
    })),
  ];
  const saved = [header, ...names.flatMap((name, nth) => (nth === 0 ? [name] : [name, t`${name}, change`]))];
  const rows = lines.map(({ name, values }) => [
    name,
    ...values.flatMap((value, nth) => (nth === 0 ? [value ?? ""] : [value ?? "", changeOf(values, nth) ?? ""])),
  ]);
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={550}>
          {label}
        </Text>
        <SaveCsv title={label} header={saved} rows={rows} />
      </Group>
      <SmallTable
        label={label}
        columns={columns}
        rows={lines}
        rowKey={({ name }) => name}
        minWidth={COLUMN_PX * (names.length + 1)}
      />
    </div>
  );
}

/** A figure, and how far it is from the baseline's. */
function Value({ line: { values, format }, nth }: { line: Line; nth: number }) {
  const value = values[nth] ?? null;
  const change = changeOf(values, nth);
  return (
    <>
      {value === null ? "–" : format(value)}
      {nth > 0 && change !== null && (
        <Text size="xs" c="var(--quiet)">
          {signed(change, format)}
        </Text>
      )}
    </>
  );
}

function changeOf(values: readonly (number | null)[], nth: number): number | null {
  const [baseline] = values;
  const value = values[nth];
  return baseline == null || value == null ? null : value - baseline;
}
