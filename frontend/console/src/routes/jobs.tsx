import { Anchor, Progress, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { choicesOf, State } from "../components/State";
import { wholePercent } from "../components/units";
import { When } from "../components/When";
import { CancelJob } from "../jobs/CancelJob";
import { JobLog } from "../jobs/JobLog";
import { jobWords, KIND_CHOICES, kindWord } from "../jobs/kinds";
import { JOBS, type Job, type JobsSearch, jobsAsked, jobsFilter, jobsQuery, jobsSearch, STATES } from "../jobs/queries";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import { texts } from "../table/search";

/** And the job whose log is read. */
type JobsAddress = JobsSearch & { readonly job?: string };

export const Route = createFileRoute("/jobs")({
  component: Jobs,
  validateSearch: (raw: Record<string, unknown>): JobsAddress => ({
    ...jobsSearch(raw),
    ...texts<Pick<JobsAddress, "job">>(raw, ["job"]),
  }),
  loaderDeps: ({ search: { job: _job, ...search } }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(jobsQuery(deps));
  },
});

function Jobs() {
  const { job, ...search } = Route.useSearch();
  const navigate = Route.useNavigate();
  const show = (change: JobsAddress) => navigate({ search: change, replace: true });
  const rows = useQuery(jobsQuery(search));
  const { page: _page, ...filters } = search;
  const narrow = (name: "kind" | "state", value: string | null) => {
    const { [name]: _old, ...kept } = filters;
    show(jobsSearch({ ...kept, [name]: value }));
  };
  const narrowed = search.q ?? search.kind ?? search.state;
  return (
    <>
      <PageHead title="Jobs" says={rows.data && says(rows.data.results)}>
        <ExportCsv path="/api/jobs/" query={jobsAsked(search)} />
      </PageHead>
      <DataTable
        label="Jobs"
        columns={COLUMNS}
        rows={rows}
        rowKey={(job) => job.id}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => show({ ...change, ...jobsFilter({ ...search }) })}
        searchable="Model pair or error"
        tools={
          <>
            <Select
              aria-label="Kind of job"
              placeholder="All kinds"
              clearable
              data={KIND_CHOICES}
              value={search.kind ?? null}
              onChange={(kind) => narrow("kind", kind)}
              w={150}
            />
            <Select
              aria-label="How jobs stand"
              placeholder="All states"
              clearable
              data={choicesOf(STATES)}
              value={search.state ?? null}
              onChange={(state) => narrow("state", state)}
              w={150}
            />
          </>
        }
        empty={
          narrowed === undefined ? (
            <Empty title="No job yet">
              A job starts when a model pair is submitted (it is checked and compiled) and when it is bootstrapped.
            </Empty>
          ) : (
            <Empty title="No such job">Take a filter away to see the others.</Empty>
          )
        }
      />
      {job !== undefined && <JobLog id={job} onClose={() => show(search)} />}
    </>
  );
}

function says(jobs: readonly Job[]): string {
  const busy = jobs.filter((job) => job.state === "running").length;
  return busy === 0 ? t`Nothing runs in the cloud now.` : t`${busy} running: the cloud trains and compresses models.`;
}

const COLUMNS: readonly Column<Job>[] = [
  {
    id: "kind",
    header: "Job",
    sort: "kind",
    cell: (job) => (
      <Anchor
        component={Link}
        to="/jobs"
        search={((now: object) => ({ ...now, job: job.id })) as never}
        replace
        size="sm"
        aria-label={`Log: ${jobWords(job)}`}
        title={job.kind}
      >
        {kindWord(job.kind)}
      </Anchor>
    ),
  },
  {
    id: "pair",
    header: "Model pair",
    cell: (job) => (
      <Text size="sm" style={{ whiteSpace: "nowrap" }}>
        {job.pair_name}
      </Text>
    ),
  },
  { id: "state", header: "State", sort: "state", cell: (job) => <State of={job.state ?? "queued"} /> },
  { id: "progress", header: "How far", cell: (job) => <Standing job={job} /> },
  { id: "created", header: "Asked for", sort: "created_at", cell: (job) => <When at={job.created_at} /> },
  { id: "finished", header: "Ended", sort: "finished_at", cell: (job) => <When at={job.finished_at} /> },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (job) => <Handles job={job} /> },
];

function Standing({ job }: { job: Job }) {
  if (job.error_code) return <Reason sentence={job.error_sentence ?? ""} code={job.error_code} />;
  const share = job.progress ?? 0;
  const isOver = job.state === "succeeded" || job.state === "cancelled";
  return (
    <Stack gap={3} miw={180}>
      {!isOver && <Progress value={100 * share} size="sm" aria-label={wholePercent(share)} />}
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
        <CancelJob id={job.id} />
      </Actions>
    );
  }
  if (job.state === "failed" || job.state === "cancelled") {
    return (
      <Actions>
        <Action
          action="cloud_training.retry_job"
          label="Try again"
          blocked={job.kind === "preflight" ? t`A pair that was rejected is submitted anew.` : undefined}
          changes={[JOBS]}
          call={(via) => api.POST("/api/jobs/{id}/retry/", { params: { path }, ...via })}
        />
      </Actions>
    );
  }
  return null;
}
