import { Stack } from "@mantine/core";
import { useMemo } from "react";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { TimeRange } from "../chart/TimeRange";
import type { Series } from "../chart/usePlot";
import { Panel } from "../components/Panel";
import { bytes, percent } from "../components/units";
import { useFederationHue } from "../federations/hues";
import { accuracyOf } from "./figures";
import type { Overview } from "./queries";

/** Accuracy of each federation's versions, and what left the devices each day. */
export default function Charts({ overview }: { overview: Overview }) {
  const { rounds, traffic } = overview;
  const hueOf = useFederationHue();
  const times = useMemo(() => rounds.map((round) => Date.parse(round.at) / 1000), [rounds]);
  const accuracy = useMemo<Series[]>(() => {
    const names = new Map(rounds.map((round) => [round.federation, round.federation_name]));
    return [...names]
      .sort(([, one], [, other]) => one.localeCompare(other))
      .map(([federation, label]) => ({
        label,
        hue: hueOf(federation),
        values: rounds.map((round) => (round.federation === federation ? accuracyOf(round) : null)),
      }));
  }, [rounds, hueOf]);
  const days = useMemo(() => traffic.map((day) => Date.parse(day.day) / 1000), [traffic]);
  const sent = useMemo(
    () => [
      { label: "updates", values: traffic.map((day) => day.update_bytes) },
      { label: "portions for other devices", values: traffic.map((day) => day.portion_bytes) },
      { label: "profiles of their data", values: traffic.map((day) => day.profile_bytes) },
    ],
    [traffic],
  );
  return (
    <Stack gap="lg">
      {rounds.length > 1 && (
        <Panel title="Accuracy" tools={<TimeRange />}>
          <TimeChart
            title="Accuracy of published versions"
            times={times}
            series={accuracy}
            format={percent}
            bounds={SHARE}
          />
        </Panel>
      )}
      {days.length > 1 && (
        <Panel title="Traffic">
          <TimeChart
            title="What left the devices each day"
            times={days}
            series={sent}
            format={bytes}
            bounds={FROM_NOTHING}
          />
        </Panel>
      )}
    </Stack>
  );
}
