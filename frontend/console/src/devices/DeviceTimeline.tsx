import { Text, Timeline } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { LaneChart } from "../chart/LaneChart";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { When } from "../components/When";
import { t } from "../language/t";
import { conditionLanes } from "./conditionLanes";
import { networkOf } from "./network";
import { type Observation, timelineQuery } from "./queries";

const SHOWN = 6;

/** What held on the device, and what it told whenever something changed. */
export function DeviceTimeline({ id }: { id: string }) {
  const answer = useQuery(timelineQuery(id));
  return (
    <Panel title="Conditions over the last two weeks">
      <Answer of={answer} height={180}>
        {({ results }) =>
          results.length === 0 ? (
            <Text size="sm" c="var(--quiet)">
              It has not checked in yet.
            </Text>
          ) : (
            <Seen seen={results} until={answer.dataUpdatedAt / 1000} />
          )
        }
      </Answer>
    </Panel>
  );
}

/** Youngest first; the last held until then, in seconds since 1970. */
function Seen({ seen, until }: { seen: readonly Observation[]; until: number }) {
  const lanes = useMemo(() => conditionLanes(seen, until), [seen, until]);
  return (
    <>
      {seen.length > 1 && <LaneChart title="What held when" lanes={lanes} />}
      <Timeline bulletSize={12} lineWidth={2} color="teal" active={0} mt="lg">
        {seen.slice(0, SHOWN).map((one) => (
          <Timeline.Item key={one.id} title={<Conditions of={one.conditions} />}>
            <Text size="xs" c="var(--quiet)" mb={2}>
              <When at={one.at} />
            </Text>
            {one.blockers.map((reason) => (
              <div key={reason.code}>
                <Reason {...reason} />
              </div>
            ))}
          </Timeline.Item>
        ))}
      </Timeline>
    </>
  );
}

function Conditions({ of }: { of: unknown }) {
  const reported = (typeof of === "object" && of !== null ? of : {}) as Record<string, unknown>;
  const words = [
    reported.charging === "yes" ? t`charging` : reported.charging === "no" ? t`on battery` : t`power unknown`,
    t`network ${networkOf(reported.network)}`,
    ...(reported.idle === "no" ? [t`in use`] : []),
    ...(typeof reported.temperature_c === "number" ? [`${reported.temperature_c.toFixed(0)} °C`] : []),
  ];
  return (
    <Text component="span" size="sm" fw={550}>
      {words.join(", ")}
    </Text>
  );
}
