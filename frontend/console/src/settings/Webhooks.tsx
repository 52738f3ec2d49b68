import { Anchor, Group, MultiSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { Named } from "../components/Named";
import { Panel } from "../components/Panel";
import { ShownOnce } from "../components/ShownOnce";
import { State } from "../components/State";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { DELIVERIES, EVENTS, type Event, WEBHOOKS, type Webhook, webhooksQuery } from "./telling";

/** Programs that are told what happens, as it happens. */
export function Webhooks({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const rows = useQuery(webhooksQuery(search));
  const [made, setMade] = useState<{ name: string; secret: string }>();
  return (
    <Stack gap="lg">
      <NewWebhook onMade={(name, secret) => setMade({ name, secret })} />
      {made !== undefined && <ShownOnce name={made.name} secret={made.secret} />}
      <DataTable
        label="Webhooks"
        columns={COLUMNS}
        rows={rows}
        rowKey={(webhook) => String(webhook.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        searchable="Name or address"
        tools={<ExportCsv path="/api/webhooks/" query={asked(search)} />}
        empty={
          <Empty title="No webhook yet">A program that should hear of events gives an address. Make one above.</Empty>
        }
      />
    </Stack>
  );
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: "name",
    header: "Webhook",
    sort: "name",
    cell: (webhook) => <Named name={webhook.name} place={webhook.url} />,
  },
  { id: "state", header: "State", cell: (webhook) => <State of={webhook.is_active === false ? "paused" : "ready"} /> },
  { id: "events", header: "Is told that", cell: (webhook) => webhook.events.map(wordsOf).join("; ") },
  { id: "created", header: "Made", sort: "created_at", cell: (webhook) => <When at={webhook.created_at} /> },
  {
    id: "log",
    header: "Log",
    cell: (webhook) => (
      <Anchor
        component={Link}
        to="/settings"
        search={{ tab: "deliveries", webhook: webhook.id } as never}
        size="sm"
        style={{ whiteSpace: "nowrap" }}
      >
        what it was told
      </Anchor>
    ),
  },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (webhook) => <Handles webhook={webhook} /> },
];

export function wordsOf(event: string): string {
  return EVENTS.find(({ value }) => value === event)?.label ?? event;
}

function Handles({ webhook }: { webhook: Webhook }) {
  const path = { id: webhook.id };
  const active = webhook.is_active !== false;
  return (
    <Actions>
      <Action
        action="webhooks.try_webhook"
        label="Try it"
        done={`${webhook.name} is being told of nothing, to see whether it arrives.`}
        changes={[DELIVERIES]}
        call={(via) => api.POST("/api/webhooks/{id}/test/", { params: { path }, ...via })}
      />
      <Action
        action="webhooks.change_webhook"
        label={active ? "Pause" : "Resume"}
        changes={[WEBHOOKS]}
        call={(via) => api.PATCH("/api/webhooks/{id}/", { params: { path }, body: { is_active: !active }, ...via })}
      />
      <Action
        action="webhooks.remove_webhook"
        label="Remove"
        danger
        confirm={`${webhook.name} is told nothing any more, and its log is forgotten.`}
        changes={[WEBHOOKS, DELIVERIES]}
        call={(via) => api.DELETE("/api/webhooks/{id}/", { params: { path }, ...via })}
      />
    </Actions>
  );
}

function NewWebhook({ onMade }: { onMade: (name: string, secret: string) => void }) {
  const form = useForm({ initialValues: { name: "", url: "", events: [] as Event[] } });
  const { name, url, events } = form.values;
  return (
    <Panel asks title="Tell a program what happens">
      <Group align="flex-end" gap="sm">
        <TextInput label="Name" placeholder="on-call channel" {...form.getInputProps("name")} />
        <TextInput label="Address" placeholder="https://…" miw={260} {...form.getInputProps("url")} />
        <MultiSelect label="It is told when" data={EVENTS} miw={260} {...form.getInputProps("events")} />
        <Action
          action="webhooks.create_webhook"
          label="Make a webhook"
          primary
          blocked={blockedBy(name, url, events)}
          changes={[WEBHOOKS]}
          onDone={(answer) => {
            onMade(name, (answer as { data: { secret: string } }).data.secret);
            form.reset();
          }}
          call={(via) => api.POST("/api/webhooks/", { body: { name, url, events }, ...via })}
        />
      </Group>
    </Panel>
  );
}

function blockedBy(name: string, url: string, events: readonly Event[]): string | undefined {
  if (name.trim() === "") return t`Give the webhook a name first.`;
  if (!/^https?:\/\/./.test(url)) return t`Give the address of the program, with https:// before it.`;
  return events.length === 0 ? t`Say what it should be told.` : undefined;
}
