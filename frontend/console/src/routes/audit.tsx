import { Anchor, Drawer, Select, Stack, Text, TextInput } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { type AuditSearch, auditAsked, auditFilter, auditSearch } from "../audit/filter";
import { Answer } from "../components/Answer";
import { Changes } from "../components/Changes";
import { Empty } from "../components/Empty";
import { useFocusBack } from "../components/focus";
import { PageHead } from "../components/PageHead";
import { When } from "../components/When";
import { sessionQuery } from "../session/session";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { LIST, PAGE_SIZE } from "../table/rows";

type Entry = components["schemas"]["Entry"];

const ACTORS = [
  { value: "person", label: "a person" },
  { value: "token", label: "an API token" },
  { value: "system", label: "the platform" },
  { value: "nobody", label: "nobody signed in" },
] as const;

export const Route = createFileRoute("/audit")({
  component: Audit,
  validateSearch: auditSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(entriesQuery(deps));
  },
});

function entriesQuery(search: AuditSearch) {
  const { entry: _entry, hide: _hide, ...wanted } = search;
  return queryOptions({
    queryKey: ["audit", wanted],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/audit/", { params: { query: auditAsked(wanted) }, signal })).data,
    ...LIST,
  });
}

/** One entry, also where the list has moved on since somebody was sent its link. */
function entryQuery(id: number) {
  return queryOptions({
    queryKey: ["audit", id],
    queryFn: async ({ signal }) => (await api.GET("/api/audit/{id}/", { params: { path: { id } }, signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function Audit() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(entriesQuery(search));
  const { data: session } = useQuery(sessionQuery);
  const show = (change: AuditSearch) => navigate({ search: change, replace: true });
  const narrow = (name: "action" | "by" | "from" | "to", value: string | null) => {
    const { [name]: _old, page: _page, ...kept } = search;
    show(auditSearch({ ...kept, ...(value !== null && { [name]: value }) }));
  };

  const columns: readonly Column<Entry>[] = [
    { id: "at", header: "When", sort: "at", cell: (entry) => <When at={entry.at} /> },
    { id: "who", header: "Who", cell: (entry) => <Who entry={entry} /> },
    {
      id: "what",
      header: "What",
      cell: (entry) => (
        <Anchor component="button" type="button" size="sm" onClick={() => show({ ...search, entry: entry.id })}>
          {entry.title}
        </Anchor>
      ),
    },
    { id: "subject", header: "On", cell: (entry) => entry.subject_name },
    { id: "address", header: "From", cell: (entry) => entry.address || "–" },
  ];

  return (
    <>
      <PageHead title="Audit" says="Every change that people, their tokens and the platform made. Nothing is removed.">
        <ExportCsv path="/api/audit/" query={auditAsked(search)} />
      </PageHead>
      <DataTable
        label="Changes"
        columns={columns}
        rows={rows}
        rowKey={(entry) => String(entry.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => show({ ...auditFilter({ ...search }), ...change })}
        searchable="Who, or on what"
        tools={
          <>
            <Select
              aria-label="Kind of change"
              placeholder="All changes"
              clearable
              searchable
              value={search.action ?? null}
              data={session?.may.map((may) => ({ value: may.action, label: may.title })) ?? []}
              onChange={(action) => narrow("action", action)}
              w={280}
            />
            <Select
              aria-label="Made by"
              placeholder="By anybody"
              clearable
              value={search.by ?? null}
              data={[...ACTORS]}
              onChange={(by) => narrow("by", by)}
              w={170}
            />
            {(["from", "to"] as const).map((end) => (
              <TextInput
                key={end}
                type="date"
                aria-label={end === "from" ? "First day" : "Last day"}
                leftSection={
                  <Text size="sm" c="var(--quiet)">
                    {end === "from" ? "from" : "to"}
                  </Text>
                }
                leftSectionWidth={46}
                value={search[end] ?? ""}
                onChange={(event) => narrow(end, event.currentTarget.value)}
                w={190}
              />
            ))}
          </>
        }
        empty={
          <Empty title={Object.keys(auditFilter({ ...search })).length === 0 ? "No change yet" : "No change fits"}>
            Changes appear here as soon as somebody makes one.
          </Empty>
        }
      />
      {search.entry !== undefined && (
        <Looked
          id={search.entry}
          onClose={() => {
            const { entry: _entry, ...kept } = search;
            show(kept);
          }}
        />
      )}
    </>
  );
}

function Looked({ id, onClose }: { id: number; onClose: () => void }) {
  useFocusBack();
  const answer = useQuery(entryQuery(id));
  return (
    <Drawer opened onClose={onClose} title={answer.data?.title ?? "Change"} position="right" size="lg">
      <Answer of={answer} height={160}>
        {(entry) => (
          <Stack>
            <Text size="sm" c="var(--quiet)">
              <Who entry={entry} />, <When at={entry.at} />
              {entry.address !== "" && <>, from {entry.address}</>}: {entry.subject_name}
            </Text>
            <Changes before={entry.before} after={entry.after} />
          </Stack>
        )}
      </Answer>
    </Drawer>
  );
}

function Who({ entry }: { entry: Entry }) {
  return (
    <span>
      {entry.actor_name}
      {entry.token !== "" && (
        <Text component="span" size="sm" c="var(--quiet)">
          {" "}
          with {entry.token}
        </Text>
      )}
    </span>
  );
}
