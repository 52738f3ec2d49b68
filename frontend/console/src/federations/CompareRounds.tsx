import { Stack } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { ComparedWith } from "../components/ComparedWith";
import { Panel } from "../components/Panel";
import { SideBySide } from "../components/SideBySide";
import { wordOf } from "../components/State";
import { t } from "../language/t";
import { type Round, roundQuery, roundsQuery } from "./queries";
import { linesOfRounds } from "./sideBySide";

interface Props {
  readonly baseline: Round;
  /** Ids of the others. */
  readonly against: readonly number[];
  readonly onAgainst: (against: readonly number[]) => void;
}

/** A round beside others of its federation. */
export function CompareRounds({ baseline, against, onAgainst }: Props) {
  const { data: near } = useQuery(roundsQuery(baseline.federation));
  const answers = useQueries({ queries: against.map((id) => roundQuery(id)) });
  const others = answers.flatMap(({ data }) => data ?? []);
  const known = new Map([...(near?.results ?? []), ...others].map((round) => [round.id, round]));
  known.delete(baseline.id);
  const compared = [baseline, ...others];
  return (
    <Panel title="Beside other rounds">
      <Stack gap="md">
        <ComparedWith
          maw={420}
          data={[...known.values()].map((round) => ({ value: String(round.id), label: nameOf(round) }))}
          value={against.map(String)}
          onChange={(chosen) => onAgainst(chosen.map(Number))}
        />
        {others.length > 0 && (
          <SideBySide
            label="Rounds side by side"
            header="Figure"
            names={compared.map(({ number }) => t`round ${number}`)}
            lines={linesOfRounds(compared)}
          />
        )}
      </Stack>
    </Panel>
  );
}

function nameOf({ number, state }: Round): string {
  return t`round ${number}, ${wordOf(state ?? "planned")}`;
}
