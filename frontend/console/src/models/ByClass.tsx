import { Stack } from "@mantine/core";
import { lazy, Suspense, useMemo } from "react";
import { Loading } from "../components/Loading";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { ConfusionMatrix } from "./Confusions";
import { confusionOf } from "./confusion";
import { nameOf, type Version } from "./queries";

const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));

/** How good a version is at each class, and which it takes for which; nothing where that was not measured. */
export function ByClass({ version, labels }: { version: Version; labels: readonly string[] }) {
  const metrics = version.metrics as { readonly class_accuracy?: readonly (number | null)[] } | null;
  const accuracy = metrics?.class_accuracy;
  const series = useMemo(() => [{ label: "accuracy", values: accuracy ?? [] }], [accuracy]);
  const confusion = confusionOf(metrics);
  if (accuracy === undefined || accuracy.length === 0) return null;
  return (
    <Panel title={`Classes of ${nameOf(version)}`}>
      <Stack gap="lg">
        <Suspense fallback={<Loading height={200} />}>
          <BarChart title="Accuracy of each class" names={labels} series={series} format={percent} most={1} />
        </Suspense>
        {confusion !== undefined && <ConfusionMatrix of={confusion} labels={labels} />}
      </Stack>
    </Panel>
  );
}
