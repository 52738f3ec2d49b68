import { Anchor, Group, Text } from "@mantine/core";
import { IconAlertOctagon, IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Empty } from "../components/Empty";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { About } from "./About";
import { firingQuery, type Incident, type Severity } from "./queries";

/** What rules see now, until it is over. */
export function Firing({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  return (
    <DataTable
      label="Firing now"
      columns={COLUMNS}
      rows={useQuery(firingQuery(search))}
      rowKey={(incident) => String(incident.id)}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={onSearch}
      searchable="Sentence or rule"
      empty={
        <Empty title="Nothing fires">
          No rule sees anything that it watches for.{" "}
          <Anchor component={Link} to="/alerts" search={{ tab: "rules" } as never}>
            Rules
          </Anchor>{" "}
          say what is watched for;{" "}
          <Anchor component={Link} to="/alerts" search={{ tab: "channels" } as never}>
            channels
          </Anchor>{" "}
          say who is told.
        </Empty>
      }
    />
  );
}

/** How bad it is, as an icon with a name. */
export function SeverityIcon({ of }: { of: Severity }) {
  const Icon = of === "error" ? IconAlertOctagon : IconAlertTriangle;
  return (
    <Icon
      size={18}
      color={of === "error" ? "var(--bad)" : "var(--wait)"}
      aria-label={of}
      role="img"
      style={{ flexShrink: 0 }}
    />
  );
}

const COLUMNS: readonly Column<Incident>[] = [
  {
    id: "sentence",
    header: "What is wrong",
    cell: (incident) => (
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <SeverityIcon of={incident.severity} />
        <Text size="sm" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
          <About path={incident.path}>{incident.sentence}</About>
        </Text>
      </Group>
    ),
  },
  { id: "rule", header: "Rule", cell: (incident) => incident.rule_name },
  { id: "began", header: "Since", sort: "began_at", cell: (incident) => <When at={incident.began_at} /> },
];
