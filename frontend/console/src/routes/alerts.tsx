import { Tabs } from "@mantine/core";
import { createFileRoute } from "@tanstack/react-router";
import { Channels } from "../alerts/Channels";
import { Firing } from "../alerts/Firing";
import { NoticeLog } from "../alerts/NoticeLog";
import { type NoticesFilter, noticesFilter } from "../alerts/queries";
import { Rules } from "../alerts/Rules";
import { PageHead } from "../components/PageHead";
import { choice, type TableSearch, tableSearch } from "../table/search";

const TABS = ["firing", "log", "rules", "channels"] as const;
type Tab = (typeof TABS)[number];

interface AlertsSearch extends TableSearch, NoticesFilter {
  readonly tab?: Tab;
}

export const Route = createFileRoute("/alerts")({
  component: Alerts,
  validateSearch: (raw: Record<string, unknown>): AlertsSearch => {
    const tab = choice(raw.tab, TABS);
    const shown = { ...tableSearch(raw), ...(tab !== undefined && { tab }) };
    return tab === "log" ? { ...shown, ...noticesFilter(raw) } : shown;
  },
});

function Alerts() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const tab = search.tab ?? "firing";
  const table = {
    search,
    onSearch: (change: TableSearch & NoticesFilter) => navigate({ search: { ...change, tab }, replace: true }),
  };
  return (
    <>
      <PageHead title="Alerts" says="What is watched for, who is told, and what they were told." />
      <Tabs value={tab} onChange={(value) => navigate({ search: { tab: value as Tab } })} keepMounted={false}>
        <Tabs.List mb="lg">
          <Tabs.Tab value="firing">Firing now</Tabs.Tab>
          <Tabs.Tab value="log">Log</Tabs.Tab>
          <Tabs.Tab value="rules">Rules</Tabs.Tab>
          <Tabs.Tab value="channels">Channels</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="firing">
          <Firing {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="log">
          <NoticeLog {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="rules">
          <Rules {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="channels">
          <Channels {...table} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
