import { Tabs } from "@mantine/core";
import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "../components/PageHead";
import {
  type RunsFilter,
  runsAsked,
  runsFilter,
  type TriedFilter,
  triedAsked,
  triedFilter,
} from "../simulations/queries";
import { Runs } from "../simulations/Runs";
import { TriedPlans } from "../simulations/TriedPlans";
import { ExportCsv } from "../table/ExportCsv";
import { choice, type TableSearch, tableSearch } from "../table/search";

const TABS = ["plans", "runs"] as const;
type Tab = (typeof TABS)[number];
type Simulations = TableSearch & (RunsFilter | TriedFilter) & { readonly tab?: Tab };

export const Route = createFileRoute("/simulations/")({
  component: SimulationsPage,
  validateSearch: (raw: Record<string, unknown>): Simulations => {
    const tab = choice(raw.tab, TABS);
    const filter = tab === "runs" ? runsFilter(raw) : triedFilter(raw);
    return { ...tableSearch(raw), ...filter, ...(tab !== undefined && { tab }) };
  },
});

function SimulationsPage() {
  const { tab = "plans", ...search } = Route.useSearch();
  const navigate = Route.useNavigate();
  const show = (change: TableSearch & (RunsFilter | TriedFilter)) =>
    navigate({ search: { ...change, tab } as Simulations, replace: true });
  return (
    <>
      <PageHead title="Simulations" says="What plans would do, on simulated devices: no device is asked.">
        {tab === "runs" ? (
          <ExportCsv path="/api/simulation-runs/" query={runsAsked(search as TableSearch & RunsFilter)} />
        ) : (
          <ExportCsv path="/api/plan-forecasts/" query={triedAsked(search as TableSearch & TriedFilter)} />
        )}
      </PageHead>
      <Tabs value={tab} onChange={(value) => navigate({ search: { tab: value as Tab } })} keepMounted={false}>
        <Tabs.List mb="lg">
          <Tabs.Tab value="plans">Plans that were tried</Tabs.Tab>
          <Tabs.Tab value="runs">Runs and sweeps</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="plans">
          <TriedPlans search={search as TableSearch & TriedFilter} onSearch={show} />
        </Tabs.Panel>
        <Tabs.Panel value="runs">
          <Runs search={search as TableSearch & RunsFilter} onSearch={show} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
