import { Progress, Stack, Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import { type TableSearch, tableSearch } from "../table/search";

type Job = components["schemas"]["TrainingJob"];

const JOBS = ["jobs"] as const;

export const Route = createFileRoute("/jobs")({
  component: Jobs,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(jobsQuery(deps));
  },
});

function jobsQuery(search: TableSearch) {
  return queryOptions({
    queryKey: [...JOBS, search],
    queryFn: async ({ signal }) => (await api.GET("/api/jobs/", { params: { query: asked(search) }, signal })).data,
    ...LIST,
  });
}

function Jobs() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(jobsQuery(search));
  return (
    <>
      <PageHead title="Jobs" says={rows.data && says(rows.data.results)}>
        <ExportCsv path="/api/jobs/" query={asked(search)} />
      </PageHead>
      <DataTable
        label="Jobs"
        columns={COLUMNS}
        rows={rows}
        rowKey={(job) => job.id}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => navigate({ search: change, replace: true })}
        empty={
          <Empty title="No job yet">
            A job starts when a model pair is submitted (it is checked and compiled) and when it is bootstrapped.
          </Empty>
        }
      />
    </>
  );
}

function says(jobs: readonly Job[]): string {
  const busy = jobs.filter((job) => job.state === "running").length;
  return busy === 0 ? "Nothing runs in the cloud now." : `${busy} running: the cloud trains and compresses models.`;
}

const COLUMNS: readonly Column<Job>[] = [
  { id: "kind", header: "Job", cell: (job) => <Text size="sm">{job.kind.replaceAll("_", " ")}</Text> },
  { id: "pair", header: "Model pair", cell: (job) => job.pair_slug },
  { id: "state", header: "State", cell: (job) => <State of={job.state ?? "queued"} /> },
  { id: "progress", header: "How far", cell: (job) => <Standing job={job} /> },
  { id: "created", header: "Asked for", cell: (job) => <When at={job.created_at} /> },
  { id: "finished", header: "Ended", cell: (job) => <When at={job.finished_at} /> },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (job) => <Handles job={job} /> },
];

function Standing({ job }: { job: Job }) {
  if (job.error_code) return <Reason sentence={job.error_sentence ?? ""} code={job.error_code} brief />;
  const share = 100 * (job.progress ?? 0);
  return (
    <Stack gap={3} miw={180}>
      <Progress value={share} size="sm" aria-label={`${share.toFixed(0)} %`} />
      <Text size="xs" c="var(--quiet)">
        {job.progress_sentence}
      </Text>
    </Stack>
  );
}

function Handles({ job }: { job: Job }) {
  const path = { id: job.id };
  if (job.state === "queued" || job.state === "running") {
    return (
      <Actions>
        <Action
          action="cloud_training.cancel_job"
          label="Cancel"
          danger
          confirm="What it has done so far is kept, so that it can be tried again."
          changes={[JOBS]}
          call={(via) => api.POST("/api/jobs/{id}/cancel/", { params: { path }, ...via })}
        />
      </Actions>
    );
  }
  if (job.state === "failed" || job.state === "cancelled") {
    return (
      <Actions>
        <Action
          action="cloud_training.retry_job"
          label="Try again"
          changes={[JOBS]}
          call={(via) => api.POST("/api/jobs/{id}/retry/", { params: { path }, ...via })}
        />
      </Actions>
    );
  }
  return null;
}
