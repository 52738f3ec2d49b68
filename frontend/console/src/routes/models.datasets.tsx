import { Button, FileInput, Group, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../components/Empty";
import { tell } from "../components/notice";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Upload } from "../components/Upload";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { DATASETS, type Dataset, datasetListQuery } from "../models/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/models/datasets")({
  component: Datasets,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(datasetListQuery(deps));
  },
});

function Datasets() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <>
      <PageHead title="Data sets" says="Samples that the cloud teaches with, or measures every candidate with.">
        <ExportCsv path="/api/datasets/" query={asked(search)} />
        <Button component={Link} to="/models" size="sm" variant="default">
          Models
        </Button>
      </PageHead>
      <Stack gap="lg">
        <New />
        <DataTable
          label="Data sets"
          columns={COLUMNS}
          rows={useQuery(datasetListQuery(search))}
          rowKey={(dataset) => dataset.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          searchable="Name"
          empty={<Empty title="No data set yet">Choose a file above, and upload it.</Empty>}
        />
      </Stack>
    </>
  );
}

function New() {
  const [file, choose] = useState<File | null>(null);
  const [typed, name] = useState("");
  const called = typed.trim() || (file?.name.replace(/\.npz$/, "") ?? "");
  const form = () => {
    const body = new FormData();
    body.append("name", called);
    if (file !== null) body.append("file", file);
    return body;
  };
  return (
    <Panel title="Upload a data set">
      <Group align="flex-end" gap="sm" mb="sm">
        <FileInput
          label="File"
          description="an .npz of y and x, or of y and an array by the name of each input; a row a sample"
          placeholder="Choose an .npz file"
          accept=".npz"
          clearable
          miw={280}
          value={file}
          onChange={choose}
        />
        <TextInput
          label="Name"
          placeholder={called}
          maxLength={100}
          value={typed}
          onChange={(event) => name(event.currentTarget.value)}
        />
      </Group>
      <Upload
        action="registry.add_dataset"
        label="Upload"
        path="/api/datasets/"
        form={form}
        blocked={file === null ? t`Choose a file first.` : undefined}
        changes={[DATASETS]}
        onDone={(answer) => {
          const { rows } = answer as Dataset;
          tell(t`${called} has ${counted(rows)} samples.`);
          choose(null);
          name("");
        }}
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<Dataset>[] = [
  { id: "name", header: "Data set", sort: "name", cell: ({ name }) => name },
  { id: "rows", header: "Samples", sort: "rows", align: "end", cell: ({ rows }) => counted(rows) },
  {
    id: "inputs",
    header: "Inputs",
    cell: ({ inputs }) =>
      inputs
        .map(({ name, dtype, shape }) => `${name} ${dtype}${shape.length > 0 ? ` [${shape.join(", ")}]` : ""}`)
        .join("; "),
  },
  {
    id: "target",
    header: "Target",
    cell: ({ classes, target_dtype, target_shape }) => {
      const shape = ` [${target_shape.join(", ")}]`;
      if (classes === 0) return target_dtype + shape;
      return t`${counted(classes)} classes` + (target_shape.length > 0 ? shape : "");
    },
  },
  { id: "created", header: "Uploaded", sort: "created_at", cell: ({ created_at }) => <When at={created_at} /> },
];
