import { useQuery } from "@tanstack/react-query";
import { Panel } from "../components/Panel";
import { duration } from "../components/units";
import { When } from "../components/When";
import { saidOf } from "../models/speeds";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type DeviceLatency, latenciesQuery } from "./queries";

/** How long train steps and predictions take on a device, as it told last; nothing before it has. */
export function DeviceSpeed({ id }: { id: string }) {
  const { data: latencies } = useQuery(latenciesQuery(id));
  if (latencies === undefined || latencies.length === 0) return null;
  return (
    <Panel title="Speed">
      <SmallTable
        label="Times on this device"
        columns={COLUMNS}
        rows={latencies}
        rowKey={(row) => `${row.work} ${row.form} ${row.charging}`}
        minWidth={520}
      />
    </Panel>
  );
}

const COLUMNS: readonly SmallColumn<DeviceLatency>[] = [
  { header: "What", cell: saidOf },
  { header: "Half within", align: "end", cell: ({ p50_s }) => duration(p50_s) },
  { header: "90% within", align: "end", cell: ({ p90_s }) => duration(p90_s) },
  { header: "99% within", align: "end", cell: ({ p99_s }) => duration(p99_s) },
  {
    header: "Hottest",
    align: "end",
    cell: ({ hottest_c }) => (hottest_c === null ? "–" : `${hottest_c.toFixed(0)} °C`),
  },
  { header: "Told", align: "end", cell: ({ at }) => <When at={at} /> },
];
