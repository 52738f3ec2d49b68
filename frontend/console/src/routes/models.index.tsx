import { Anchor, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { Champion, ChampionAccuracy, Holders, PairFigures, Versions } from "../models/PairCells";
import { type Pair, pairFiguresQuery, pairsQuery } from "../models/queries";
import { ArchivedOnly } from "../table/ArchivedOnly";
import { byRow } from "../table/beside";
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
    context.queryClient.prefetchQuery(pairFiguresQuery(deps));
  },
});

function Models() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: figures } = useQuery(pairFiguresQuery(search));
  const beside = useMemo(() => byRow(figures, ({ pair }) => pair), [figures]);
  return (
    <>
      <PageHead title="Models" says="A pair is a cloud model, which teaches, and a device model, which learns from it.">
        <ExportCsv path="/api/pairs/" query={asked(search)} />
        <Button component={Link} to="/models/datasets" size="sm" variant="default">
          Data sets
        </Button>
        <Button component={Link} to="/models/new" size="sm">
          Upload a pair
        </Button>
      </PageHead>
      <PairFigures value={beside}>
        <DataTable
          label="Model pairs"
          columns={COLUMNS}
          rows={useQuery(pairsQuery(search))}
          rowKey={(pair) => pair.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          searchable="Name"
          tools={<ArchivedOnly search={search} onSearch={(change) => navigate({ search: change, replace: true })} />}
          empty={
            <Empty title="No model pair yet">
              Export a large model and a small one with torch.export, and{" "}
              <Anchor component={Link} to="/models/new">
                upload them
              </Anchor>
              .
            </Empty>
          }
        />
      </PairFigures>
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
        {pair.reason_code ? <Reason sentence={pair.reason_sentence ?? ""} code={pair.reason_code} /> : null}
      </>
    ),
  },
  { id: "accuracy", header: "Accuracy", align: "end", cell: (pair) => <ChampionAccuracy of={pair} /> },
  { id: "champion", header: "Version in use", align: "end", cell: (pair) => <Champion of={pair} /> },
  { id: "versions", header: "Versions", align: "end", cell: (pair) => <Versions of={pair} /> },
  { id: "devices", header: "Devices", align: "end", cell: (pair) => <Holders of={pair} /> },
  { id: "labels", header: "Classes", align: "end", cell: (pair) => pair.labels.length },
  { id: "batch", header: "Batch", optional: true, align: "end", cell: (pair) => pair.batch_size },
  { id: "created", header: "Submitted", sort: "created_at", cell: (pair) => <When at={pair.created_at} /> },
];
