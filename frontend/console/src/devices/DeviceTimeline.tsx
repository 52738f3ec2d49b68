import { Skeleton, Text, Timeline } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { LaneChart } from "../chart/LaneChart";
import { Failed } from "../components/Failed";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { When } from "../components/When";
import { conditionLanes } from "./conditionLanes";
import { timelineQuery } from "./queries";

const SHOWN = 6;

/** What held on the device, and what it told whenever something changed. */
export function DeviceTimeline({ id }: { id: string }) {
  const { data, error, refetch, dataUpdatedAt } = useQuery(timelineQuery(id));
  const lanes = useMemo(() => conditionLanes(data?.results ?? [], dataUpdatedAt / 1000), [data, dataUpdatedAt]);
  return (
    <Panel title="Conditions over the last two weeks">
      {data === undefined && error !== null && <Failed error={error} retry={refetch} />}
      {data === undefined && error === null && <Skeleton height={180} />}
      {data?.results.length === 0 && (
        <Text size="sm" c="var(--quiet)">
          It has not checked in yet.
        </Text>
      )}
      {data !== undefined && data.results.length > 1 && <LaneChart title="What held when" lanes={lanes} />}
      <Timeline bulletSize={12} lineWidth={2} color="teal" active={0} mt="lg">
        {data?.results.slice(0, SHOWN).map((seen) => (
          <Timeline.Item key={seen.id} title={<Told of={seen.conditions} />}>
            <Text size="xs" c="var(--quiet)" mb={2}>
              <When at={seen.at} />
            </Text>
            {seen.blockers.map((reason) => (
              <div key={reason.code}>
                <Reason {...reason} />
              </div>
            ))}
          </Timeline.Item>
        ))}
      </Timeline>
    </Panel>
  );
}

function Told({ of }: { of: unknown }) {
  const told = (typeof of === "object" && of !== null ? of : {}) as Record<string, unknown>;
  const words = [
    told.charging === "yes" ? "charging" : told.charging === "no" ? "on battery" : "power unknown",
    told.network === "unknown" ? "network unknown" : `network ${String(told.network)}`,
    ...(told.idle === "no" ? ["in use"] : []),
    ...(typeof told.temperature_c === "number" ? [`${told.temperature_c.toFixed(0)} °C`] : []),
  ];
  return (
    <Text component="span" size="sm" fw={550}>
      {words.join(", ")}
    </Text>
  );
}
