import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Command } from "../components/Command";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { type Pair, pairsQuery } from "../models/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/models/")({
  component: Models,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(pairsQuery(deps));
  },
});

function Models() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <>
      <PageHead title="Models" says="A pair is a cloud model, which teaches, and a device model, which learns from it.">
        <ExportCsv path="/api/pairs/" query={asked(search)} />
      </PageHead>
      <DataTable
        label="Model pairs"
        columns={COLUMNS}
        rows={useQuery(pairsQuery(search))}
        rowKey={(pair) => pair.id}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => navigate({ search: change, replace: true })}
        searchable="Name"
        empty={
          <Empty title="No model pair yet">
            Export both models with torch.export and submit them:
            <Command>
              {`curl -H "Authorization: Bearer $COTERIE_TOKEN" -F name=digits -F device=@device.pt2 -F cloud=@cloud.pt2 -F labels=zero -F labels=one ${window.location.origin}/api/pairs/`}
            </Command>
          </Empty>
        }
      />
    </>
  );
}

const COLUMNS: readonly Column<Pair>[] = [
  {
    id: "name",
    header: "Pair",
    sort: "name",
    cell: (pair) => (
      <Anchor component={Link} to={`/models/${pair.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {pair.name}
      </Anchor>
    ),
  },
  {
    id: "state",
    header: "State",
    sort: "state",
    cell: (pair) => (
      <>
        <State of={pair.state ?? "checking"} />{" "}
        {pair.reason_code ? <Reason sentence={pair.reason_sentence ?? ""} code={pair.reason_code} brief /> : null}
      </>
    ),
  },
  { id: "labels", header: "Classes", align: "end", cell: (pair) => pair.labels.length },
  { id: "batch", header: "Batch", align: "end", cell: (pair) => pair.batch_size },
  { id: "created", header: "Submitted", sort: "created_at", cell: (pair) => <When at={pair.created_at} /> },
];
