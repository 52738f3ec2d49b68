import { Anchor, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { State } from "../components/State";
import { When } from "../components/When";
import {
  Champion,
  ChampionAccuracy,
  FederationFigures,
  LastRound,
  Members,
  NextRound,
} from "../federations/FederationCells";
import { FederationDot } from "../federations/FederationDot";
import { type Federation, federationFiguresQuery, federationsQuery } from "../federations/queries";
import { t } from "../language/t";
import { kindWords } from "../plan/kinds";
import { ArchivedOnly } from "../table/ArchivedOnly";
import { byRow } from "../table/beside";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/federations/")({
  component: Federations,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(federationsQuery(deps));
    context.queryClient.prefetchQuery(federationFiguresQuery(deps));
  },
});

function Federations() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(federationsQuery(search));
  const { data: figures } = useQuery(federationFiguresQuery(search));
  const beside = useMemo(() => byRow(figures, ({ federation }) => federation), [figures]);
  return (
    <>
      <PageHead title="Federations" says={rows.data && says(rows.data.results)}>
        <ExportCsv path="/api/federations/" query={asked(search)} />
        <Button component={Link} to="/federations/new" size="sm">
          New federation
        </Button>
      </PageHead>
      <FederationFigures value={beside}>
        <DataTable
          label="Federations"
          columns={COLUMNS}
          rows={rows}
          rowKey={(federation) => federation.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          searchable="Name"
          tools={<ArchivedOnly search={search} onSearch={(change) => navigate({ search: change, replace: true })} />}
          empty={
            <Empty title="No federation yet">
              A federation is a set of devices that learn one task together under one plan.{" "}
              <Anchor component={Link} to="/federations/new">
                Make one
              </Anchor>
              .
            </Empty>
          }
        />
      </FederationFigures>
    </>
  );
}

function says(federations: readonly Federation[]): string {
  const running = federations.filter((federation) => federation.state === "running").length;
  if (running === 0) return t`None holds rounds now.`;
  return running === 1 ? t`1 holds rounds.` : t`${running} hold rounds.`;
}

const COLUMNS: readonly Column<Federation>[] = [
  {
    id: "name",
    header: "Federation",
    sort: "name",
    cell: (federation) => (
      <Anchor component={Link} to={`/federations/${federation.id}`} fw={550} c="inherit" underline="hover" size="sm">
        <FederationDot of={federation.id} />
        {federation.name}
      </Anchor>
    ),
  },
  { id: "state", header: "State", cell: (federation) => <State of={federation.state} /> },
  { id: "accuracy", header: "Accuracy", align: "end", cell: (federation) => <ChampionAccuracy of={federation} /> },
  { id: "champion", header: "Version in use", align: "end", cell: (federation) => <Champion of={federation} /> },
  { id: "last", header: "Last round", cell: (federation) => <LastRound of={federation} /> },
  { id: "next", header: "Next round", cell: (federation) => <NextRound of={federation} /> },
  { id: "members", header: "Devices", align: "end", cell: (federation) => <Members of={federation} /> },
  { id: "plan", header: "Plan", cell: (federation) => kinds(federation) },
  { id: "tag", header: "Their tag", optional: true, cell: (federation) => federation.device_tag || t`all devices` },
  {
    id: "created",
    header: "Made",
    sort: "created_at",
    optional: true,
    cell: (federation) => <When at={federation.created_at} />,
  },
];

/** Kinds that do nothing. */
const UNSAID = new Set(["none", "one", "at_once"]);

function kinds(federation: Federation): string {
  const plan = federation.plan as Record<string, { kind?: string }> | undefined;
  const chosen = ["local", "merge", "personal", "help", "groups", "rollout", "fallback", "forgetting"]
    .flatMap((slot) => plan?.[slot]?.kind ?? [])
    .filter((kind) => !UNSAID.has(kind))
    .map(kindWords);
  return [...new Set(chosen)].join(", ");
}
