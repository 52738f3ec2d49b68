import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import type { AgentRollout } from "./queries";

type Left = AgentRollout["left_out"][number];

/** Why devices are not asked that a roll-out would be for. */
export function LeftOut({ rollout }: { rollout: AgentRollout }) {
  return (
    <Panel title="Devices that are not asked">
      {rollout.left_out.length === 0 ? (
        <Text size="sm" c="var(--quiet)">
          All devices can be asked.
        </Text>
      ) : (
        <SmallTable
          label="Devices that are not asked"
          columns={COLUMNS}
          rows={rollout.left_out}
          rowKey={({ code }) => code}
          minWidth={320}
        />
      )}
    </Panel>
  );
}

/** Of a release that a device has already nothing is kept beside it. */
const OF_THE_RELEASE = "updates.not_newer";

const COLUMNS: readonly SmallColumn<Left>[] = [
  { header: "Why", cell: ({ sentence, code }) => <span title={code}>{sentence}</span> },
  {
    header: "Devices",
    align: "end",
    cell: ({ code, devices }) =>
      code === OF_THE_RELEASE ? (
        counted(devices)
      ) : (
        <Anchor component={Link} to="/devices" search={{ refuses_updates: code } as never} size="sm">
          {counted(devices)}
        </Anchor>
      ),
  },
];
