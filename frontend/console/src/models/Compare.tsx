import { Alert, Stack, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Answer } from "../components/Answer";
import { Loading } from "../components/Loading";
import { SideBySide } from "../components/SideBySide";
import { percent } from "../components/units";
import { Mistakes } from "./Confusions";
import { type Compared, comparedOf } from "./compared";
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
