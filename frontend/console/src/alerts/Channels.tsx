import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { Named } from "../components/Named";
import { Panel } from "../components/Panel";
import { ShownOnce } from "../components/ShownOnce";
import { State } from "../components/State";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { ChannelForm } from "./ChannelForm";
import { CHANNELS, type Channel, channelsQuery, NOTICES } from "./queries";
import { CHANNEL_KINDS } from "./words";

/** Where people are told. */
export function Channels({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const [changing, setChanging] = useState<Channel>();
  const [made, setMade] = useState<{ name: string; secret: string }>();
  const close = () => setChanging(undefined);
  const columns: readonly Column<Channel>[] = [
    {
      id: "name",
      header: "Channel",
      sort: "name",
      cell: (channel) => (
        <Named name={channel.name} place={channel.kind === "email" ? channel.recipients?.join(", ") : channel.place} />
      ),
    },
    {
      id: "kind",
      header: "Kind",
      sort: "kind",
      cell: ({ kind }) => CHANNEL_KINDS.find(({ value }) => value === kind)?.label ?? kind,
    },
    { id: "quiet", header: "Quiet hours", cell: quietHours },
    { id: "state", header: "State", cell: (channel) => <State of={standing(channel)} /> },
    {
      id: "actions",
      header: "Actions",
      headless: true,
      align: "end",
      cell: (channel) => <Handles channel={channel} onChange={() => setChanging(channel)} />,
    },
  ];
  return (
    <Stack gap="lg">
      <Panel title="Tell people">
        <ChannelForm onDone={close} onMade={(name, secret) => setMade({ name, secret })} />
      </Panel>
      {made !== undefined && made.secret !== "" && <ShownOnce name={made.name} secret={made.secret} />}
      <DataTable
        label="Channels"
        columns={columns}
        rows={useQuery(channelsQuery(search))}
        rowKey={(channel) => String(channel.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        searchable="Name or host"
        tools={<ExportCsv path="/api/alert-channels/" query={asked(search)} />}
        empty={<Empty title="No channel yet">Make one above: e-mail, Slack, Microsoft Teams, or a webhook.</Empty>}
      />
      {changing !== undefined && <ChannelForm channel={changing} onDone={close} onMade={() => undefined} />}
    </Stack>
  );
}

function quietHours({ quiet_from, quiet_until, time_zone }: Channel) {
  if (!quiet_from || !quiet_until) return "–";
  return `${quiet_from.slice(0, 5)}–${quiet_until.slice(0, 5)} ${time_zone}`;
}

function standing({ held, is_active }: Channel): string {
  if (!is_active) return "paused";
  return held === "quiet" ? t`quiet now` : held === "full" ? t`full for now` : "ready";
}

function Handles({ channel, onChange }: { channel: Channel; onChange: () => void }) {
  const path = { id: channel.id };
  return (
    <Actions>
      <Action
        action="alerts.try_channel"
        label="Send a test"
        blocked={channel.is_active ? undefined : "It is paused."}
        done={`A test is on its way to ${channel.name}; the log tells whether it arrived.`}
        changes={[NOTICES]}
        call={(via) => api.POST("/api/alert-channels/{id}/test/", { params: { path }, ...via })}
      />
      <Button size="sm" variant="default" onClick={onChange}>
        Edit
      </Button>
      <Action
        action="alerts.change_channel"
        label={channel.is_active ? "Pause" : "Resume"}
        confirm={
          channel.is_active ? "It is told nothing until it is resumed; what is held for it is dropped." : undefined
        }
        changes={[CHANNELS, NOTICES]}
        call={(via) =>
          api.PATCH("/api/alert-channels/{id}/", { params: { path }, body: { is_active: !channel.is_active }, ...via })
        }
      />
      <Action
        action="alerts.remove_channel"
        label="Remove"
        danger
        confirm={`${channel.name} is told nothing any more, and its log is forgotten.`}
        changes={[CHANNELS, NOTICES]}
        call={(via) => api.DELETE("/api/alert-channels/{id}/", { params: { path }, ...via })}
      />
    </Actions>
  );
}
