import { Anchor, Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import {
  ALLIANCE_STATES,
  type Alliance,
  type AlliancesSearch,
  alliancesAsked,
  alliancesQuery,
  alliancesSearch,
} from "../alliances/queries";
import { isActive } from "../alliances/standing";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { choicesOf, State } from "../components/State";
import { counted, percent } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";

export const Route = createFileRoute("/alliances/")({
  component: Alliances,
  validateSearch: alliancesSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(alliancesQuery(deps));
  },
});

function Alliances() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(alliancesQuery(search));
  const show = (change: AlliancesSearch) => navigate({ search: change, replace: true });
  const { page: _page, state, ...rest } = search;
  return (
    <>
      <PageHead title="Alliances" says={rows.data && says(rows.data.results)}>
        <ExportCsv path="/api/alliances/" query={alliancesAsked(search)} />
        <Button component={Link} to="/alliances/new" size="sm" color="teal">
          Begin an alliance
        </Button>
      </PageHead>
      <DataTable
        label="Alliances"
        columns={COLUMNS}
        rows={rows}
        rowKey={(alliance) => alliance.id}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => show({ ...change, ...(state !== undefined && { state }) })}
        searchable="Name or reason"
        tools={
          <Select
            aria-label="How alliances stand"
            placeholder="All states"
            clearable
            data={choicesOf(ALLIANCE_STATES)}
            value={state ?? null}
            onChange={(value) => show(alliancesSearch({ ...rest, state: value }))}
            w={150}
          />
        }
        empty={
          search.q === undefined && state === undefined ? (
            <Empty title="No alliance yet">
              Two organisations that know the same people by different columns train one network, half of which is at
              either. Neither gives its table away: they find out whom both know by private set intersection, and then
              exchange sealed letters through the platform, which cannot read them.
            </Empty>
          ) : (
            <Empty title="No such alliance">Take a filter away to see the others.</Empty>
          )
        }
      />
    </>
  );
}

function says(alliances: readonly Alliance[]): string {
  const active = alliances.filter(isActive).length;
  if (active === 0) return t`Two organisations with different columns about the same people train one network.`;
  return active === 1 ? t`1 is under way.` : t`${counted(active)} are under way.`;
}

const COLUMNS: readonly Column<Alliance>[] = [
  {
    id: "name",
    header: "Alliance",
    sort: "name",
    cell: (alliance) => (
      <Anchor component={Link} to={`/alliances/${alliance.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {alliance.name}
      </Anchor>
    ),
  },
  { id: "state", header: "State", cell: ({ state }) => <State of={state} /> },
  {
    id: "why",
    header: "Why",
    cell: ({ reason_sentence, reason_code }) => <Reason sentence={reason_sentence} code={reason_code} />,
  },
  {
    id: "parties",
    header: "Parties",
    cell: ({ parties }) => parties.map(({ device_name }) => device_name).join(", "),
  },
  { id: "common", header: "Known to both", align: "end", cell: ({ common }) => (common === 0 ? "–" : counted(common)) },
  {
    id: "epoch",
    header: "Epochs",
    align: "end",
    cell: ({ epoch, terms }) => t`${counted(epoch)} of ${counted(terms.epochs)}`,
  },
  {
    id: "accuracy",
    header: "Together",
    align: "end",
    cell: ({ accuracy }) => (accuracy === null ? "–" : percent(accuracy)),
  },
  { id: "alone", header: "Alone", align: "end", cell: ({ alone }) => (alone === null ? "–" : percent(alone)) },
  { id: "made", header: "Begun", sort: "created_at", cell: ({ created_at }) => <When at={created_at} /> },
  { id: "ended", header: "Ended", sort: "ended_at", cell: ({ ended_at }) => <When at={ended_at} /> },
];
