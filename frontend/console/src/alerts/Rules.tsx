import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { channelsQuery, INCIDENTS, RULES, type Rule, rulesQuery } from "./queries";
import { RuleForm } from "./RuleForm";
import { inWords } from "./words";

/** What is watched for, and who is told. */
export function Rules({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const [changing, setChanging] = useState<Rule>();
  const close = () => setChanging(undefined);
  const { data: channels } = useQuery(channelsQuery({}));
  const names = new Map(channels?.results.map(({ id, name }) => [id, name]));
  const columns: readonly Column<Rule>[] = [
    {
      id: "name",
      header: "Rule",
      sort: "name",
      cell: (rule) => (
        <>
          <Group gap="xs">
            <Text size="sm" fw={550}>
              {rule.name}
            </Text>
            {rule.firing > 0 && (
              <Badge size="sm" color="red" variant="light">
                {rule.firing} firing
              </Badge>
            )}
          </Group>
          <Text size="xs" c="var(--quiet)">
            {inWords(rule)}
          </Text>
        </>
      ),
    },
    { id: "channels", header: "Tells", cell: (rule) => rule.channels.map((id) => names.get(id) ?? "…").join(", ") },
    { id: "state", header: "State", cell: (rule) => <State of={rule.is_active ? "watching" : "paused"} /> },
    { id: "looked", header: "Looked at", cell: (rule) => <When at={rule.looked_at} /> },
    {
      id: "actions",
      header: "Actions",
      headless: true,
      align: "end",
      cell: (rule) => <Handles rule={rule} onChange={() => setChanging(rule)} />,
    },
  ];
  return (
    <Stack gap="lg">
      <Panel title="Watch for something">
        <RuleForm onDone={close} />
      </Panel>
      <DataTable
        label="Rules"
        columns={columns}
        rows={useQuery(rulesQuery(search))}
        rowKey={(rule) => String(rule.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        searchable="Name or code"
        tools={<ExportCsv path="/api/alert-rules/" query={asked(search)} />}
        empty={<Empty title="No rule yet">Say above what is watched for, and which channels are told.</Empty>}
      />
      {changing !== undefined && <RuleForm rule={changing} onDone={close} />}
    </Stack>
  );
}

function Handles({ rule, onChange }: { rule: Rule; onChange: () => void }) {
  const path = { id: rule.id };
  return (
    <Actions>
      <Button size="sm" variant="default" onClick={onChange}>
        Edit
      </Button>
      <Action
        action="alerts.change_rule"
        label={rule.is_active ? "Pause" : "Resume"}
        changes={[RULES]}
        call={(via) =>
          api.PATCH("/api/alert-rules/{id}/", { params: { path }, body: { is_active: !rule.is_active }, ...via })
        }
      />
      <Action
        action="alerts.remove_rule"
        label="Remove"
        danger
        confirm={`${rule.name} watches no more. What it has told stays in the log.`}
        changes={[RULES, INCIDENTS]}
        call={(via) => api.DELETE("/api/alert-rules/{id}/", { params: { path }, ...via })}
      />
    </Actions>
  );
}
