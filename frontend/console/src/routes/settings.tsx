import { Tabs } from "@mantine/core";
import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "../components/PageHead";
import { People } from "../settings/People";
import { Tokens } from "../settings/Tokens";
import { type TableSearch, tableSearch } from "../table/search";

const TABS = ["people", "tokens"] as const;
type Tab = (typeof TABS)[number];

interface SettingsSearch extends TableSearch {
  readonly tab?: Tab;
}

export const Route = createFileRoute("/settings")({
  component: Settings,
  validateSearch: (raw: Record<string, unknown>): SettingsSearch => {
    const tab = TABS.find((name) => name === raw.tab);
    return { ...tableSearch(raw), ...(tab !== undefined && { tab }) };
  },
});

function Settings() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const tab = search.tab ?? "people";
  const table = {
    search,
    onSearch: (change: TableSearch) => navigate({ search: { ...change, tab }, replace: true }),
  };
  return (
    <>
      <PageHead title="Settings" says="Who may sign in, and what programs may do." />
      <Tabs value={tab} onChange={(value) => navigate({ search: { tab: value as Tab } })} keepMounted={false}>
        <Tabs.List mb="lg">
          <Tabs.Tab value="people">People</Tabs.Tab>
          <Tabs.Tab value="tokens">Your API tokens</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="people">
          <People {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <Tokens {...table} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
