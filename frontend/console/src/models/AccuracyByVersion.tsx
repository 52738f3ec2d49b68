import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { SHARE } from "../chart/bounds";
import { TimeRange } from "../chart/TimeRange";
import { Loading } from "../components/Loading";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { accuraciesOf } from "./accuracies";
import { accuraciesByVersion, finishedQuery } from "./evaluations";
import type { Version } from "./queries";

const TimeChart = lazy(() => import("../chart/TimeChart").then(({ TimeChart }) => ({ default: TimeChart })));

/**
 * How good the versions of each lineage are on held-out samples, and on devices where these evaluated them, over time;
 * nothing of fewer than two.
 */
export function AccuracyByVersion({ pair, versions }: { pair: string; versions: readonly Version[] }) {
  const { data: finished } = useQuery(finishedQuery(pair));
  const { times, series } = useMemo(
    () => accuraciesOf(versions, accuraciesByVersion(finished?.results ?? [])),
    [versions, finished],
  );
  if (times.length < 2) return null;
  return (
    <Panel title="Accuracy" tools={<TimeRange />}>
      <Suspense fallback={<Loading height={200} />}>
        <TimeChart title="Accuracy by version" times={times} series={series} format={percent} bounds={SHARE} />
      </Suspense>
    </Panel>
  );
}
