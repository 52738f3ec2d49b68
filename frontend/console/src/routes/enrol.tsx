import { Group, NumberInput, Progress, Select, Stack, TagsInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { type Issued, Ticket } from "../enrol/Ticket";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import { type TableSearch, tableSearch } from "../table/search";

type Token = components["schemas"]["EnrolmentToken"];

const DAY_MS = 24 * 3600 * 1000;
const TOKENS = ["enrolment-tokens"] as const;

export const Route = createFileRoute("/enrol")({
  component: Enrol,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(tokensQuery(deps));
  },
});

function tokensQuery(search: TableSearch) {
  return queryOptions({
    queryKey: [...TOKENS, search],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/enrolment-tokens/", { params: { query: asked(search) }, signal })).data,
    ...LIST,
  });
}

function Enrol() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(tokensQuery(search));
  const [issued, setIssued] = useState<Issued>();
  return (
    <>
      <PageHead title="Enrol" says="A device joins with a token, and has a credential of its own from then on.">
        <ExportCsv path="/api/enrolment-tokens/" query={asked(search)} />
      </PageHead>
      <Stack gap="lg">
        <NewToken onIssued={setIssued} />
        {issued !== undefined && <Ticket key={issued.id} token={issued} />}
        <DataTable
          label="Enrolment tokens"
          columns={COLUMNS}
          rows={rows}
          rowKey={(token) => String(token.id)}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          empty={<Empty title="No token yet">Make one above; it lets as many devices join as you say.</Empty>}
        />
      </Stack>
    </>
  );
}

const COLUMNS: readonly Column<Token>[] = [
  { id: "label", header: "Token", cell: (token) => token.label || t`Token ${token.id}` },
  { id: "state", header: "State", cell: (token) => <State of={standing(token)} /> },
  { id: "uses", header: "Devices joined", cell: (token) => <Uses token={token} /> },
  { id: "tags", header: "Tags they get", cell: (token) => token.tags?.join(", ") || "–" },
  { id: "expires", header: "Expires", cell: (token) => <When at={token.expires_at} /> },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (token) => <Withdraw token={token} /> },
];

function standing(token: Token): string {
  if (token.revoked_at !== null) return "withdrawn";
  if (token.uses >= token.uses_allowed) return "used up";
  return new Date(token.expires_at) < new Date() ? "expired" : "ready";
}

function Uses({ token }: { token: Token }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress
        value={(100 * token.uses) / token.uses_allowed}
        w={80}
        size="sm"
        aria-label={`${token.uses} of ${token.uses_allowed}`}
      />
      <Text size="sm">
        {counted(token.uses)} of {counted(token.uses_allowed)}
      </Text>
    </Group>
  );
}

function Withdraw({ token }: { token: Token }) {
  if (standing(token) !== "ready") return null;
  return (
    <Actions>
      <Action
        action="fleet.revoke_enrolment_token"
        label="Withdraw"
        danger
        confirm="No more devices can join with it. Those that have joined stay."
        done="The token is withdrawn."
        changes={[TOKENS]}
        call={(via) => api.POST("/api/enrolment-tokens/{id}/revoke/", { params: { path: { id: token.id } }, ...via })}
      />
    </Actions>
  );
}

const LIFETIMES = [
  { value: "1", label: "a day" },
  { value: "7", label: "a week" },
  { value: "30", label: "30 days" },
  { value: "365", label: "a year" },
];

function NewToken({ onIssued }: { onIssued: (token: Issued) => void }) {
  const form = useForm({ initialValues: { label: "", tags: [] as string[], uses_allowed: 1, days: "7" } });
  const { label, tags, uses_allowed, days } = form.values;
  return (
    <Panel asks title="Let devices in">
      <Group align="flex-end" gap="sm">
        <TextInput label="What it is for" placeholder="kitchen displays" {...form.getInputProps("label")} />
        <NumberInput
          label="Devices"
          min={1}
          max={100_000}
          thousandSeparator
          w={110}
          {...form.getInputProps("uses_allowed")}
        />
        <TagsInput label="Tags they get" placeholder="press Enter after each" {...form.getInputProps("tags")} />
        <Select label="Valid for" data={LIFETIMES} allowDeselect={false} w={120} {...form.getInputProps("days")} />
        <Action
          action="fleet.create_enrolment_token"
          label="Make a token"
          primary
          changes={[TOKENS]}
          onDone={(answer) => onIssued((answer as { data: Issued }).data)}
          call={(via) =>
            api.POST("/api/enrolment-tokens/", {
              body: {
                label,
                tags,
                uses_allowed,
                expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
              },
              ...via,
            })
          }
        />
      </Group>
    </Panel>
  );
}
