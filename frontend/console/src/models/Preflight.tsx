import { Accordion, Alert, Anchor, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, duration } from "../components/units";
import { jobWords } from "../jobs/kinds";
import { Lines } from "../jobs/Lines";
import { type Job, jobsOfQuery } from "../jobs/queries";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import type { Pair } from "./queries";
import { type Estimate, type Report, reportOf } from "./report";

const ACTIVE: ReadonlySet<string | undefined> = new Set(["queued", "running"]);

/** The job that works on a pair now, as it goes on: pre-flight, bootstrap or distillation; nothing where there is none. */
export function Work({ pair }: { pair: Pair }) {
  const { data: jobs } = useQuery(jobsOfQuery(pair.id));
  const job = jobs?.results.find(({ state }) => ACTIVE.has(state));
  return job === undefined ? null : <Going job={job} />;
}

const TITLES: Readonly<Record<Job["kind"], string>> = {
  preflight: t`The pre-flight checks both models`,
  bootstrap: t`The cloud trains the first versions`,
  distill: t`The cloud makes the first device model`,
  quantise: t`The cloud makes an int8 form of a version`,
  simulation: t`A plan is tried on a simulated fleet`,
};

function Going({ job }: { job: Job }) {
  const share = 100 * (job.progress ?? 0);
  return (
    <Panel
      title={TITLES[job.kind]}
      tools={
        <Anchor component={Link} to="/jobs" search={{ job: job.id } as never} size="sm">
          Its whole log
        </Anchor>
      }
    >
      <Stack gap="sm">
        <Progress value={share} aria-label={`How far it is: ${jobWords(job)}`} />
        <Text size="sm" role="status">
          {job.state === "queued" ? "It waits for its turn." : job.progress_sentence || "It begins."}
        </Text>
        <Lines job={job.id} />
      </Stack>
    </Panel>
  );
}

/** Why a pair did not pass, and what to do. */
export function Rejected({ pair }: { pair: Pair }) {
  const fields = Object.entries((pair.reason_fields ?? {}) as Readonly<Record<string, unknown>>);
  return (
    <Alert color="red" variant="light" title="It did not pass its pre-flight">
      <Stack gap="sm">
        <Reason sentence={pair.reason_sentence ?? ""} code={pair.reason_code ?? ""} detailed />
        {fields.length > 0 && <Facts of={fields.map(([name, value]) => [name, String(value)] as const)} />}
        <Text size="sm">
          Change the model as the sentence says, export it again and{" "}
          <Anchor component={Link} to="/models/new">
            upload it anew
          </Anchor>
          ; its name is free. <code>coterie compile</code> tries a file without a platform.
        </Text>
      </Stack>
    </Alert>
  );
}

/** What the pre-flight found out about a pair that passed. */
export function PreflightReport({ pair }: { pair: Pair }) {
  const report = reportOf(pair);
  if (report === undefined) return null;
  return (
    <Panel title="Pre-flight report">
      <Stack gap="md">
        <Facts of={factsOf(report)} />
        {report.teacher_problem !== null && (
          <Text size="sm" c="var(--quiet)">
            Devices cannot learn from the cloud model itself: {report.teacher_problem}
          </Text>
        )}
        <SmallTable
          label="What it would take of usual devices"
          columns={DEVICES}
          rows={report.devices}
          rowKey={({ device }) => device}
          minWidth={380}
        />
        <Accordion variant="contained">
          <Accordion.Item value="operators">
            <Accordion.Control>Operators of the train step</Accordion.Control>
            <Accordion.Panel>
              <SmallTable
                label="Operators of the train step"
                columns={OPERATORS}
                rows={Object.entries(report.operators)}
                rowKey={([name]) => name}
                minWidth={240}
              />
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      </Stack>
    </Panel>
  );
}

function factsOf(report: Report): readonly (readonly [string, string])[] {
  return [
    [t`Parameters of the device model`, counted(report.device_parameters)],
    [t`Parameters of the cloud model`, report.cloud_parameters === null ? "–" : counted(report.cloud_parameters)],
    [t`A device downloads with each version`, bytes(report.parameters_bytes)],
    [t`Once`, bytes(report.train_step_bytes + report.predict_bytes + report.frozen_bytes)],
    [t`Train step where it was checked`, duration(report.step_s)],
    [t`Memory of a train step`, bytes(report.step_memory_bytes)],
    [t`Memory of the training process`, bytes(report.process_memory_bytes)],
  ];
}

const DEVICES: readonly SmallColumn<Estimate>[] = [
  { header: "Device", cell: ({ device }) => device },
  { header: "Fits", cell: ({ fits }) => <State of={fits ? "fits" : "too_large"} /> },
  { header: "Memory it may take", align: "end", cell: ({ memory_bytes }) => bytes(memory_bytes) },
  { header: "Train step", align: "end", cell: ({ step_s }) => duration(step_s) },
];

const OPERATORS: readonly SmallColumn<readonly [string, number]>[] = [
  { header: "Operator", cell: ([name]) => name },
  { header: "How often", align: "end", cell: ([, times]) => counted(times) },
];
