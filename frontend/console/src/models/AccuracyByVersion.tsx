import { lazy, Suspense, useMemo } from "react";
import { Loading } from "../components/Loading";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { accuraciesOf } from "./accuracies";
import type { Version } from "./queries";

const TimeChart = lazy(() => import("../chart/TimeChart").then(({ TimeChart }) => ({ default: TimeChart })));
const SHARE: readonly [number, number] = [0, 1];

/** How good the versions of each lineage are on held-out samples, over time; nothing of fewer than two. */
export function AccuracyByVersion({ versions }: { versions: readonly Version[] }) {
  const { times, series } = useMemo(() => accuraciesOf(versions), [versions]);
  if (times.length < 2) return null;
  return (
    <Panel title="Accuracy by version">
      <Suspense fallback={<Loading height={200} />}>
        <TimeChart title="Accuracy by version" times={times} series={series} format={percent} bounds={SHARE} />
      </Suspense>
    </Panel>
  );
}
