import { Anchor, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { Figure } from "../components/Figure";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, percent } from "../components/units";
import { When } from "../components/When";
import { Matrix } from "../help/Matrix";
import { type HelpRequest, matrixQuery, requestsQuery, type Transfer, transfersQuery } from "../help/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/help")({
  component: Help,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(requestsQuery(deps));
  },
});

function Help() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <>
      <PageHead
        title="Help"
        says="A device whose model fails on what it meets now gets a part of the model of a similar one that does well."
      >
        <ExportCsv path="/api/help-requests/" query={asked(search)} />
      </PageHead>
      <Stack gap="lg">
        <Answer of={useQuery(transfersQuery)}>
          {({ results }) => results.length > 0 && <Helped transfers={results} />}
        </Answer>
        <DataTable
          label="Help requests"
          columns={COLUMNS}
          rows={useQuery(requestsQuery(search))}
          rowKey={(request) => request.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          empty={
            <Empty title="Nobody has asked for help">
              Devices ask by themselves when they drift, in{" "}
              <Anchor component={Link} to="/federations">
                federations
              </Anchor>{" "}
              whose plan says who helps.
            </Empty>
          }
        />
      </Stack>
    </>
  );
}

function Helped({ transfers }: { transfers: readonly Transfer[] }) {
  return (
    <>
      <Totals transfers={transfers} />
      <Panel title="Who helped whom" tools={<ExportCsv path="/api/transfers/" query={{}} />}>
        <Answer of={useQuery(matrixQuery)} height={320}>
          {(matrix) => <Matrix of={matrix} />}
        </Answer>
      </Panel>
    </>
  );
}

function Totals({ transfers }: { transfers: readonly Transfer[] }) {
  const judged = transfers.filter((transfer) => transfer.accuracy_after !== null);
  const kept = judged.filter((transfer) => transfer.state === "kept").length;
  const moved = transfers.reduce((sum, transfer) => sum + (transfer.size_bytes ?? 0), 0);
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="lg">
      <Figure value={counted(transfers.length)} label="transfers" detail="the latest 500 at most" />
      <Figure
        value={judged.length === 0 ? "–" : percent(kept / judged.length)}
        label="of the judged ones kept"
        detail="the others were undone: no model gets worse by help"
      />
      <Figure value={bytes(moved)} label="moved between devices" />
    </SimpleGrid>
  );
}

const COLUMNS: readonly Column<HelpRequest>[] = [
  {
    id: "device",
    header: "Who asked",
    cell: (request) => (
      <Anchor component={Link} to={`/devices/${request.device}`} fw={550} c="inherit" underline="hover" size="sm">
        {request.device_name}
      </Anchor>
    ),
  },
  {
    id: "state",
    header: "Outcome",
    cell: (request) => (
      <>
        <State of={request.state} />
        {request.reason_code !== "" && (
          <div>
            <Reason sentence={request.reason_sentence} code={request.reason_code} />
          </div>
        )}
      </>
    ),
  },
  { id: "classes", header: "On classes", cell: (request) => request.classes.join(", ") },
  {
    id: "helpers",
    header: "Who helped",
    cell: (request) =>
      request.transfers.length === 0 ? "–" : request.transfers.map((one) => <Part key={one.id} transfer={one} />),
  },
  { id: "asked", header: "Asked", cell: (request) => <When at={request.asked_at} /> },
];

function Part({ transfer }: { transfer: Transfer }) {
  const { accuracy_before: before, accuracy_after: after } = transfer;
  return (
    <Text size="sm" component="div">
      <Anchor component={Link} to={`/devices/${transfer.helper}`} size="sm" c="inherit" underline="hover">
        {transfer.helper_name}
      </Anchor>
      : <State of={transfer.state} />
      {before !== null && after !== null && `, ${percent(before)} → ${percent(after)}`}
      {transfer.size_bytes !== null && `, ${bytes(transfer.size_bytes)}`}
      {transfer.way === "direct" && ", directly"}
      {transfer.way === "platform" && transfer.way_sentence !== "" && (
        <>
          , by the platform: <Reason sentence={transfer.way_sentence} code={transfer.way_code} />
        </>
      )}
    </Text>
  );
}
