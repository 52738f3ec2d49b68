import { Anchor, Button, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { choicesOf, State } from "../components/State";
import { bytes, duration, percent } from "../components/units";
import { When } from "../components/When";
import { type Part, partsAsked, partsQuery, partsSearch, STATES } from "../parts/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";

export const Route = createFileRoute("/parts")({
  component: Parts,
  validateSearch: partsSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(partsQuery(deps));
  },
});

function Parts() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(partsQuery(search));
  const { page: _page, state, device, federation, ...table } = search;
  const narrowed = {
    ...(state !== undefined && { state }),
    ...(device !== undefined && { device }),
    ...(federation !== undefined && { federation }),
  };
  return (
    <>
      <PageHead title="Parts in rounds" says="What each device was asked in each round, and what came of it.">
        <ExportCsv path="/api/assignments/" query={partsAsked(search)} />
      </PageHead>
      <DataTable
        label="Parts in rounds"
        columns={COLUMNS}
        rows={rows}
        rowKey={(part) => part.id}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => navigate({ search: { ...narrowed, ...change }, replace: true })}
        searchable="Device or reason"
        tools={
          <>
            <Select
              aria-label="Outcome"
              placeholder="All outcomes"
              clearable
              data={choicesOf(STATES)}
              value={state ?? null}
              onChange={(value) => {
                const { state: _old, ...others } = narrowed;
                const next = STATES.find((one) => one === value);
                navigate({
                  search: { ...table, ...others, ...(next !== undefined && { state: next }) },
                  replace: true,
                });
              }}
              w={170}
            />
            {(device !== undefined || federation !== undefined) && (
              <Button
                size="sm"
                variant="default"
                onClick={() => navigate({ search: { ...table, ...(state !== undefined && { state }) }, replace: true })}
              >
                {device === undefined ? "Show those of all federations" : "Show those of all devices"}
              </Button>
            )}
          </>
        }
        empty={
          <Empty title="No device has had a part">
            Parts begin when a round asks devices to train.{" "}
            <Anchor component={Link} to="/federations">
              Start a federation
            </Anchor>
            .
          </Empty>
        }
      />
    </>
  );
}

const COLUMNS: readonly Column<Part>[] = [
  {
    id: "device",
    header: "Device",
    cell: (part) => (
      <Anchor component={Link} to={`/devices/${part.device}`} fw={550} c="inherit" underline="hover" size="sm">
        {part.device_name}
      </Anchor>
    ),
  },
  {
    id: "round",
    header: "Round",
    cell: (part) => (
      <Anchor component={Link} to={`/federations/${part.federation}/rounds/${part.round}`} size="sm">
        {part.federation_name}, round {part.round_number}
      </Anchor>
    ),
  },
  {
    id: "state",
    header: "Outcome",
    cell: (part) => (
      <>
        <State of={part.state} />
        {part.reason_code !== "" && (
          <div>
            <Reason sentence={part.reason_sentence} code={part.reason_code} />
          </div>
        )}
      </>
    ),
  },
  {
    id: "sent",
    header: "Sent",
    align: "end",
    cell: (part) => (part.delivered === null ? "–" : bytes(part.delivered.size_bytes)),
  },
  {
    id: "accuracy",
    header: "Accuracy before",
    align: "end",
    cell: ({ delivered }) => (delivered?.accuracy_before == null ? "–" : percent(delivered.accuracy_before)),
  },
  {
    id: "trained",
    header: "Trained for",
    align: "end",
    optional: true,
    cell: (part) => (part.delivered === null ? "–" : duration(part.delivered.train_s)),
  },
  {
    id: "memory",
    header: "Memory",
    align: "end",
    optional: true,
    cell: ({ delivered }) => (delivered?.train_memory_bytes == null ? "–" : bytes(delivered.train_memory_bytes)),
  },
  {
    id: "asked",
    header: "Asked",
    sort: "offered_at",
    optional: true,
    cell: (part) => (
      <Text size="sm">
        <When at={part.offered_at} />
      </Text>
    ),
  },
  { id: "changed", header: "When", sort: "changed_at", cell: (part) => <When at={part.changed_at} /> },
];
