import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { numbers } from "../components/locale";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { comparedOf, type Delivered, fateOf, isLeftOut } from "./compared";
import type { RoundDetail } from "./queries";

const SHOWN = 50;
const DISTANCE = numbers({ maximumSignificantDigits: 3 });

/** Which updates the merge left out and why, and how much each of the others counts; nothing where all count alike. */
export function ComparedUpdates({ of: round }: { of: RoundDetail }) {
  const rows = comparedOf(round.assignments);
  if (rows.length === 0) return null;
  const left = rows.filter(({ update }) => isLeftOut(update)).length;
  return (
    <Panel
      title="What the merge made of each update"
      tools={
        <SaveCsv
          title={`Updates of round ${round.number}`}
          header={["device", "outcome", "weight", "distance"]}
          rows={rows.map(({ name, update }) => [
            name,
            fateOf(update),
            update.merge_weight ?? "",
            update.merge_distance ?? "",
          ])}
        />
      }
    >
      <SmallTable
        label="Updates that the merge compared"
        columns={COLUMNS}
        rows={rows.slice(0, SHOWN)}
        rowKey={({ device }) => device}
        minWidth={520}
        strong={({ update }) => isLeftOut(update)}
      />
      <Text size="xs" c="var(--quiet)" mt="xs">
        {rows.length > SHOWN && `The first ${SHOWN} of ${rows.length}. `}
        {left} of them left out. An equal share is 100%. The distance is from the others, as the plan’s merge measures
        it; the farthest need not be hostile, its data may be rare.
      </Text>
    </Panel>
  );
}

const COLUMNS: readonly SmallColumn<Delivered>[] = [
  {
    header: "Device",
    cell: ({ device, name }) => (
      <Anchor component={Link} to={`/devices/${device}`} size="sm">
        {name}
      </Anchor>
    ),
  },
  { header: "Outcome", cell: ({ update }) => fateOf(update) },
  {
    header: "Weight",
    align: "end",
    cell: ({ update }) => (update.merge_weight === null ? "–" : percent(update.merge_weight)),
  },
  {
    header: "Distance",
    align: "end",
    cell: ({ update }) => (update.merge_distance === null ? "–" : DISTANCE.format(update.merge_distance)),
  },
];
