import { Alert, Group, MultiSelect, Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Command } from "../components/Command";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";

type Token = components["schemas"]["ApiToken"];
type Scope = components["schemas"]["Scope"];

const TOKENS = ["tokens"] as const;
const DAY_MS = 24 * 3600 * 1000;
const SCOPES: { value: Scope; label: string }[] = [
  { value: "read", label: "read" },
  { value: "fleet", label: "change devices and enrolment" },
  { value: "models", label: "change models and jobs" },
  { value: "federations", label: "change federations" },
  { value: "settings", label: "change people and settings" },
];
const LIFETIMES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "never", label: "no end" },
];

function tokensQuery(search: TableSearch) {
  return queryOptions({
    queryKey: [...TOKENS, search],
    queryFn: async ({ signal }) => (await api.GET("/api/tokens/", { params: { query: asked(search) }, signal })).data,
    ...LIST,
  });
}

/** One's own API tokens. */
export function Tokens({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const rows = useQuery(tokensQuery(search));
  const [secret, setSecret] = useState<string>();
  return (
    <Stack gap="lg">
      <NewToken onSecret={setSecret} />
      {secret !== undefined && (
        <Alert variant="light" color="yellow" title="This secret is shown once">
          <Command>{`export COTERIE_TOKEN=${secret}`}</Command>
        </Alert>
      )}
      <DataTable
        label="API tokens"
        columns={COLUMNS}
        rows={rows}
        rowKey={(token) => String(token.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        tools={<ExportCsv path="/api/tokens/" query={asked(search)} />}
        empty={<Empty title="No token yet">A program speaks the REST API with a token. Make one above.</Empty>}
      />
    </Stack>
  );
}

const COLUMNS: readonly Column<Token>[] = [
  { id: "name", header: "Token", sort: "name", cell: (token) => token.name },
  { id: "state", header: "State", cell: (token) => <State of={standing(token)} /> },
  { id: "scopes", header: "Used for", cell: (token) => <span title={token.scopes?.join(", ")}>{usedFor(token)}</span> },
  { id: "used", header: "Last used", sort: "last_used_at", cell: (token) => <When at={token.last_used_at} /> },
  { id: "expires", header: "Expires", sort: "expires_at", cell: (token) => <When at={token.expires_at} /> },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (token) => <End token={token} /> },
];

function usedFor({ scopes = [] }: Token): string {
  if (scopes.length === SCOPES.length) return t`everything`;
  return SCOPES.filter(({ value }) => scopes.includes(value))
    .map(({ label }) => label)
    .join(", ");
}

function standing(token: Token): string {
  if (token.revoked_at !== null) return "ended";
  return token.expires_at && new Date(token.expires_at) < new Date() ? "expired" : "ready";
}

function End({ token }: { token: Token }) {
  if (standing(token) !== "ready") return null;
  return (
    <Actions>
      <Action
        action="accounts.revoke_token"
        label="End"
        danger
        confirm={`Programs that use ${token.name} are refused at once.`}
        changes={[TOKENS]}
        call={(via) => api.DELETE("/api/tokens/{id}/", { params: { path: { id: token.id } }, ...via })}
      />
    </Actions>
  );
}

function NewToken({ onSecret }: { onSecret: (secret: string) => void }) {
  const form = useForm({ initialValues: { name: "", scopes: ["read"] as Scope[], days: "90" } });
  const { name, scopes, days } = form.values;
  const blocked =
    name.trim() === "" ? t`Give the token a name first.` : scopes.length === 0 ? t`Say what it is for.` : undefined;
  return (
    <Panel asks title="Let a program in">
      <Group align="flex-end" gap="sm">
        <TextInput label="What it is for" placeholder="nightly export" {...form.getInputProps("name")} />
        <MultiSelect label="What it may do" data={SCOPES} miw={260} {...form.getInputProps("scopes")} />
        <Select label="Valid for" data={LIFETIMES} allowDeselect={false} w={120} {...form.getInputProps("days")} />
        <Action
          action="accounts.issue_token"
          label="Make a token"
          primary
          blocked={blocked}
          changes={[TOKENS]}
          onDone={(answer) => {
            onSecret((answer as { data: { secret: string } }).data.secret);
            form.reset();
          }}
          call={(via) =>
            api.POST("/api/tokens/", {
              body: {
                name,
                scopes,
                expires_at: days === "never" ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
              },
              ...via,
            })
          }
        />
      </Group>
    </Panel>
  );
}
