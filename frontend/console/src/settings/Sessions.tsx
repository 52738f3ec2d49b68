import { Badge, Group, Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { browserNamed } from "./browserNamed";

type Session = components["schemas"]["BrowserSession"];

const SESSIONS = ["browser-sessions"] as const;

function sessionsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...SESSIONS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/browser-sessions/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** Browsers in which one is signed in. */
export function Sessions({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  return (
    <DataTable
      label="Sessions"
      columns={COLUMNS}
      rows={useQuery(sessionsQuery(search))}
      rowKey={(session) => String(session.id)}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={onSearch}
      empty={<Empty title="No session">You are signed in by an API token alone.</Empty>}
    />
  );
}

const COLUMNS: readonly Column<Session>[] = [
  {
    id: "browser",
    header: "Browser",
    cell: (session) => (
      <>
        <Group gap="xs">
          <Text size="sm" fw={550}>
            {browserNamed(session.browser ?? "")}
          </Text>
          {session.is_this && (
            <Badge size="xs" variant="light" color="gray">
              this one
            </Badge>
          )}
        </Group>
        <Text size="xs" c="var(--quiet)" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
          {session.browser}
        </Text>
      </>
    ),
  },
  { id: "address", header: "From", cell: (session) => session.address || "–" },
  { id: "began", header: "Signed in", sort: "began_at", cell: (session) => <When at={session.began_at} /> },
  { id: "seen", header: "Last seen", sort: "seen_at", cell: (session) => <When at={session.seen_at} /> },
  {
    id: "actions",
    header: "Actions",
    headless: true,
    align: "end",
    cell: (session) => (
      <Actions>
        <Action
          action="accounts.end_session"
          label="Sign out there"
          danger
          blocked={session.is_this ? "It is this one: sign out by the menu at your name." : undefined}
          done="It is signed out; its console says so within ten seconds."
          changes={[SESSIONS]}
          call={(via) => api.DELETE("/api/browser-sessions/{id}/", { params: { path: { id: session.id } }, ...via })}
        />
      </Actions>
    ),
  },
];
