import { Tabs } from "@mantine/core";
import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "../components/PageHead";
import { Deliveries } from "../settings/Deliveries";
import { Password } from "../settings/Password";
import { People } from "../settings/People";
import { Projects } from "../settings/Projects";
import { SecondFactor } from "../settings/SecondFactor";
import { Sessions } from "../settings/Sessions";
import { Tokens } from "../settings/Tokens";
import { type DeliveriesFilter, deliveriesFilter } from "../settings/telling";
import { Webhooks } from "../settings/Webhooks";
import { WritingForm } from "../settings/WritingForm";
import { choice, type TableSearch, tableSearch } from "../table/search";

const TABS = [
  "people",
  "projects",
  "tokens",
  "webhooks",
  "deliveries",
  "password",
  "second-factor",
  "sessions",
  "writing",
] as const;
type Tab = (typeof TABS)[number];

interface SettingsSearch extends TableSearch, DeliveriesFilter {
  readonly tab?: Tab;
}

export const Route = createFileRoute("/settings")({
  component: Settings,
  validateSearch: (raw: Record<string, unknown>): SettingsSearch => {
    const tab = choice(raw.tab, TABS);
    const shown = { ...tableSearch(raw), ...(tab !== undefined && { tab }) };
    return tab === "deliveries" ? { ...shown, ...deliveriesFilter(raw) } : shown;
  },
});

function Settings() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const tab = search.tab ?? "people";
  const table = {
    search,
    onSearch: (change: TableSearch & DeliveriesFilter) => navigate({ search: { ...change, tab }, replace: true }),
  };
  return (
    <>
      <PageHead title="Settings" says="Who may sign in, what programs may do, and what they are told." />
      <Tabs value={tab} onChange={(value) => navigate({ search: { tab: value as Tab } })} keepMounted={false}>
        <Tabs.List mb="lg">
          <Tabs.Tab value="people">People</Tabs.Tab>
          <Tabs.Tab value="projects">Projects</Tabs.Tab>
          <Tabs.Tab value="tokens">API tokens</Tabs.Tab>
          <Tabs.Tab value="webhooks">Webhooks</Tabs.Tab>
          <Tabs.Tab value="deliveries">Deliveries</Tabs.Tab>
          <Tabs.Tab value="password">Password</Tabs.Tab>
          <Tabs.Tab value="second-factor">Second factor</Tabs.Tab>
          <Tabs.Tab value="sessions">Sessions</Tabs.Tab>
          <Tabs.Tab value="writing">Language and dates</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="people">
          <People {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="projects">
          <Projects {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <Tokens {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="webhooks">
          <Webhooks {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="deliveries">
          <Deliveries {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="password">
          <Password />
        </Tabs.Panel>
        <Tabs.Panel value="second-factor">
          <SecondFactor {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="sessions">
          <Sessions {...table} />
        </Tabs.Panel>
        <Tabs.Panel value="writing">
          <WritingForm />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
