import { Anchor, Box, Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Failed, HowFar, Whose } from "../agents/cells";
import { FleetVersions } from "../agents/FleetVersions";
import { type AgentRollout, agentRolloutsQuery, agentVersionsQuery } from "../agents/queries";
import { isActive } from "../agents/standing";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/agents/")({
  component: Agents,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(agentRolloutsQuery(deps));
    context.queryClient.prefetchQuery(agentVersionsQuery());
  },
});

function Agents() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(agentRolloutsQuery(search));
  return (
    <>
      <PageHead title="Agents" says={rows.data && says(rows.data.results)}>
        <ExportCsv path="/api/agent-rollouts/" query={asked(search)} />
        <Button component={Link} to="/agents/new" size="sm" color="teal">
          Roll out a release
        </Button>
      </PageHead>
      <Stack gap="lg">
        <FleetVersions />
        <DataTable
          label="Roll-outs of agents"
          columns={COLUMNS}
          rows={rows}
          rowKey={(rollout) => rollout.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          searchable="Release, tag or reason"
          empty={
            search.q === undefined ? (
              <Empty title="No agent was rolled out yet">
                A signed release of the agent reaches a few devices first, then more, and is taken back by itself where
                it fails.
              </Empty>
            ) : (
              <Empty title="No such roll-out">Search for something else to see the others.</Empty>
            )
          }
        />
      </Stack>
    </>
  );
}

function says(rollouts: readonly AgentRollout[]): string {
  const active = rollouts.find(isActive);
  if (active === undefined) return t`No release is on its way to devices.`;
  return active.state === "paused"
    ? t`Agent ${active.version} is paused on its way to devices.`
    : t`Agent ${active.version} is on its way to devices.`;
}

const COLUMNS: readonly Column<AgentRollout>[] = [
  {
    id: "version",
    header: "Release",
    cell: (rollout) => (
      <Anchor component={Link} to={`/agents/${rollout.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {rollout.version}
      </Anchor>
    ),
  },
  { id: "state", header: "State", cell: (rollout) => <State of={rollout.state ?? "running"} /> },
  {
    id: "why",
    header: "Why",
    cell: (rollout) => <Reason sentence={rollout.reason_sentence ?? ""} code={rollout.reason_code ?? ""} />,
  },
  {
    id: "far",
    header: "How far",
    cell: (rollout) => (
      <Box miw={150}>
        <HowFar rollout={rollout} />
      </Box>
    ),
  },
  { id: "failed", header: "Failed", align: "end", cell: (rollout) => <Failed rollout={rollout} /> },
  { id: "whose", header: "Whose", cell: (rollout) => <Whose rollout={rollout} /> },
  { id: "began", header: "Began", sort: "created_at", cell: (rollout) => <When at={rollout.created_at} /> },
  { id: "ended", header: "Ended", sort: "ended_at", cell: (rollout) => <When at={rollout.ended_at} /> },
];
