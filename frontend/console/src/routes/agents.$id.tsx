import { Anchor, Grid, Select, SimpleGrid, Stack } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Failed, HowFar, Whose } from "../agents/cells";
import { LeftOut } from "../agents/LeftOut";
import { NoParts } from "../agents/NoParts";
import {
  agentRolloutQuery,
  type DeviceUpdate,
  PART_STATES,
  type PartsSearch,
  partsAsked,
  partsQuery,
  partsSearch,
} from "../agents/queries";
import { RolloutActions } from "../agents/RolloutActions";
import { isActive, phasesOf, progressOf, share } from "../agents/standing";
import { Empty } from "../components/Empty";
import { Facts } from "../components/Facts";
import { Figure } from "../components/Figure";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { choicesOf, State } from "../components/State";
import { counted, duration } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";

export const Route = createFileRoute("/agents/$id")({
  component: AgentRolloutPage,
  validateSearch: partsSearch,
  loaderDeps: ({ search }) => search,
  loader: async ({ context, params, deps }) => {
    context.queryClient.prefetchQuery(partsQuery(params.id, deps));
    await context.queryClient.ensureQueryData(agentRolloutQuery(params.id));
  },
  ...until(t`Roll-out of an agent`),
});

function AgentRolloutPage() {
  const { id } = Route.useParams();
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: rollout } = useSuspenseQuery(agentRolloutQuery(id));
  const parts = useQuery(partsQuery(id, search));
  if (rollout === undefined) return null;
  const { devices, asked, installed, open, returned } = progressOf(rollout);
  const later = devices - asked;
  const show = (change: PartsSearch) => navigate({ search: change, replace: true });
  const { page: _page, state, ...rest } = search;
  return (
    <>
      <PageHead
        title={`Agent ${rollout.version}`}
        says={
          <>
            <State of={rollout.state ?? "running"} />{" "}
            {rollout.reason_code !== "" && (
              <Reason sentence={rollout.reason_sentence ?? ""} code={rollout.reason_code ?? ""} />
            )}
          </>
        }
      >
        <Anchor component={Link} to="/agents" size="sm">
          All roll-outs
        </Anchor>
        <ExportCsv path="/api/agent-updates/" query={partsAsked(id, search)} />
        <RolloutActions rollout={rollout} />
      </PageHead>
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
          <Figure
            value={devices === 0 ? "–" : share(installed / devices)}
            label="of the devices have it"
            detail={<HowFar rollout={rollout} />}
          />
          <Figure
            value={counted(open)}
            label={open === 1 ? "device has not said how it went" : "devices have not said how it went"}
            detail={`${counted(asked)} were asked, ${counted(later)} can be later`}
          />
          <Figure
            value={<Failed rollout={rollout} />}
            label="could not use it"
            detail={`rolled back above ${share(rollout.most_failures)} of those that tried it`}
          />
          <Figure
            value={counted(returned)}
            label="went back when they were told to"
            detail={rollout.state === "rolled_back" ? "the others follow as they check in" : "only after a roll-back"}
          />
        </SimpleGrid>
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Panel title="The roll-out">
              <Facts
                of={[
                  [t`Whose devices`, <Whose key="whose" rollout={rollout} />],
                  [t`Phases`, phasesOf(rollout)],
                  [t`Each is watched for`, duration(rollout.hold_s)],
                  [t`Waits for a phase that is offline`, duration(rollout.absent_s)],
                  [t`A new agent has to check in within`, duration(rollout.probation_s)],
                  [t`Began`, <When key="began" at={rollout.created_at} />],
                  isActive(rollout)
                    ? [t`This phase since`, <When key="phase" at={rollout.phase_since} />]
                    : [t`Ended`, <When key="ended" at={rollout.ended_at} />],
                ]}
              />
            </Panel>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <LeftOut rollout={rollout} />
          </Grid.Col>
        </Grid>
        <DataTable
          label="Devices' parts"
          columns={COLUMNS}
          rows={parts}
          rowKey={(part) => part.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => show({ ...change, ...(state !== undefined && { state }) })}
          searchable="Device or reason"
          tools={
            <Select
              aria-label="How devices stand"
              placeholder="All states"
              clearable
              data={choicesOf(PART_STATES)}
              value={state ?? null}
              onChange={(value) => show(partsSearch({ ...rest, state: value }))}
              w={150}
            />
          }
          empty={
            search.q === undefined && state === undefined ? (
              <NoParts rollout={rollout} />
            ) : (
              <Empty title="No such device">Take a filter away to see the others.</Empty>
            )
          }
        />
      </Stack>
    </>
  );
}

const COLUMNS: readonly Column<DeviceUpdate>[] = [
  {
    id: "device",
    header: "Device",
    sort: "device",
    cell: (part) => (
      <Anchor component={Link} to={`/devices/${part.device}`} fw={550} c="inherit" underline="hover" size="sm">
        {part.device_name}
      </Anchor>
    ),
  },
  { id: "state", header: "State", cell: (part) => <State of={part.state ?? "asked"} /> },
  {
    id: "why",
    header: "Why",
    cell: (part) => <Reason sentence={part.reason_sentence ?? ""} code={part.reason_code ?? ""} />,
  },
  { id: "former", header: "Agent before", cell: (part) => part.former },
  { id: "asked", header: "Asked", sort: "asked_at", cell: (part) => <When at={part.asked_at} /> },
  { id: "installed", header: "Installed", cell: (part) => <When at={part.installed_at} /> },
  { id: "changed", header: "Told", sort: "changed_at", cell: (part) => <When at={part.changed_at} /> },
];
