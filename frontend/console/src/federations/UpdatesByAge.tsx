import { Text } from "@mantine/core";
import { useMemo } from "react";
import type { components } from "../api/schema";
import { BarChart } from "../chart/BarChart";
import { Panel } from "../components/Panel";
import { byAge } from "./ages";

type Age = components["schemas"]["Age"];

/** How stale the updates of an asynchronous round were. */
export function UpdatesByAge({ ages }: { ages: readonly Age[] }) {
  const { names, series } = useMemo(() => byAge(ages), [ages]);
  return (
    <Panel title="Updates by age">
      <BarChart title="Updates by age" names={names} series={series} />
      <Text size="xs" c="var(--quiet)" mt="xs">
        By how many versions the one that the device began with was older than the one that its update was added to.
      </Text>
    </Panel>
  );
}
