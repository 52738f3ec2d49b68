import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { components } from "../api/schema";
import { BarChart } from "../chart/BarChart";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { t } from "../language/t";
import { participationQuery } from "./queries";

type Figures = components["schemas"]["Participation"];

/** For how many rounds devices have not been asked: whether a selection forgets some. */
export function Participation({ federation }: { federation: string }) {
  const participation = useQuery(participationQuery(federation));
  return (
    <Panel title="Is every device asked?">
      <Answer of={participation} height={200}>
        {(found) => <Shown participation={found} />}
      </Answer>
    </Panel>
  );
}

function Shown({ participation }: { participation: Figures }) {
  const { names, series } = useMemo(
    () => ({
      names: participation.by_rounds.map((row) => String(row.rounds)),
      series: [{ label: "devices", values: participation.by_rounds.map((row) => row.devices) }],
    }),
    [participation],
  );
  return (
    <>
      {names.length > 0 && <BarChart title="Rounds since devices were asked" names={names} series={series} />}
      <Text size="sm" c="var(--quiet)" mt="xs">
        {sentenceOf(participation)}
      </Text>
    </>
  );
}

/** The same in words. */
export function sentenceOf({ longest, median, never }: Pick<Figures, "longest" | "median" | "never">): string {
  const asked =
    longest === null || median === null
      ? t`No device that is ready has been asked yet.`
      : t`Of the devices that are ready, half were asked ${ago(median)} or later, and all ${ago(longest)} or later.`;
  return never === 0 ? asked : `${asked} ${t`${counted(never)} that are ready have not been asked in 200 rounds.`}`;
}

function ago(rounds: number): string {
  if (rounds === 0) return t`in this round`;
  return rounds === 1 ? t`a round ago` : t`${rounds} rounds ago`;
}
