import { Stack, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { SHARE } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { TimeRange } from "../chart/TimeRange";
import { ComparedWith } from "../components/ComparedWith";
import { Panel } from "../components/Panel";
import { SideBySide } from "../components/SideBySide";
import { percent } from "../components/units";
import { useFederationHue } from "./hues";
import { type Federation, federationsQuery, type Round, roundsQuery } from "./queries";
import { accuracyOf, type Lived, linesOfFederations } from "./sideBySide";

interface Props {
  readonly baseline: Federation;
  /** Ids of the others. */
  readonly against: readonly string[];
  readonly onAgainst: (against: readonly string[]) => void;
}

/** A federation beside others, by their newest rounds. */
export function CompareFederations({ baseline, against, onAgainst }: Props) {
  const { data: all } = useQuery(federationsQuery());
  const others = useMemo(() => all?.results.filter(({ id }) => id !== baseline.id) ?? [], [all, baseline]);
  const federations = useMemo(
    () => [baseline, ...against.flatMap((id) => others.find((one) => one.id === id) ?? [])],
    [baseline, against, others],
  );
  const rounds = useQueries({ queries: federations.map(({ id }) => roundsQuery(id)), combine: roundsIn });
  const lived = useMemo(
    () => federations.map((federation, nth) => ({ federation, rounds: rounds[nth] ?? [] })),
    [federations, rounds],
  );
  return (
    <Panel title="Beside other federations" tools={<TimeRange />}>
      <Stack gap="md">
        <ComparedWith
          maw={420}
          data={others.map(({ id, name }) => ({ value: id, label: name }))}
          value={against}
          onChange={onAgainst}
        />
        {others.length === 0 && all !== undefined && (
          <Text size="sm" c="var(--quiet)">
            There is no other federation.
          </Text>
        )}
        {federations.length > 1 && (
          <>
            <SideBySide
              label="Federations side by side"
              header="Figure"
              names={federations.map(({ name }) => name)}
              lines={linesOfFederations(lived)}
            />
            <Accuracies of={lived} />
          </>
        )}
      </Stack>
    </Panel>
  );
}

function roundsIn(answers: readonly { readonly data?: { readonly results: readonly Round[] } | undefined }[]) {
  return answers.map(({ data }) => data?.results ?? []);
}

/** Accuracy of each federation's newest rounds over time, in its colour. */
function Accuracies({ of }: { of: readonly Lived[] }) {
  const hueOf = useFederationHue();
  const rounds = useMemo(
    () =>
      of
        .flatMap((one) => one.rounds)
        .filter(({ finished_at }) => finished_at !== null)
        .sort((one, other) => momentOf(one) - momentOf(other)),
    [of],
  );
  const times = useMemo(() => rounds.map(momentOf), [rounds]);
  const series = useMemo(
    () =>
      of.map(({ federation: { id, name } }) => ({
        label: name,
        hue: hueOf(id),
        values: rounds.map((round) => (round.federation === id ? accuracyOf(round) : null)),
      })),
    [of, rounds, hueOf],
  );
  if (times.length < 2) return null;
  return <TimeChart title="Accuracy of each version" times={times} series={series} format={percent} bounds={SHARE} />;
}

function momentOf({ finished_at }: Round): number {
  return Date.parse(finished_at ?? "") / 1000;
}
