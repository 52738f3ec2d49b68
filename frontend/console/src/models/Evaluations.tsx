import { Anchor, Group, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Deleted } from "../components/Deleted";
import { Loading } from "../components/Loading";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { ExportCsv } from "../table/ExportCsv";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import {
  decilesOf,
  EVALUATIONS,
  type Evaluation,
  type EvaluationPart,
  evaluationQuery,
  evaluationsQuery,
  foundBy,
  isActive,
  latestOf,
  rowsOf,
  type SummaryRow,
  spreadOf,
} from "./evaluations";
import type { Version } from "./queries";
import { StartEvaluation } from "./StartEvaluation";

const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));
const SHOWN = 8;

/** How a version does on devices: what they measured last, by decile and by tag, and what is under way. */
export function Evaluations({ version }: { version: Version }) {
  return (
    <Panel
      title="On devices"
      tools={
        <>
          <ExportCsv path="/api/evaluations/" query={{ version: version.id }} />
          <StartEvaluation version={version} />
        </>
      }
    >
      <Answer of={useQuery(evaluationsQuery(version.id))} height={120}>
        {({ results }) =>
          results.length === 0 ? (
            <Text size="sm" c="var(--quiet)">
              No device has evaluated this version yet.
            </Text>
          ) : (
            <Stack gap="lg">
              {results
                .filter((one, place) => place === 0 || isActive(one))
                .map((one) => (
                  <One key={one.id} evaluation={one} />
                ))}
              {results.some((one, place) => place > 0 && !isActive(one)) && (
                <SmallTable
                  label="Earlier evaluations"
                  columns={EARLIER}
                  rows={results.filter((one, place) => place > 0 && !isActive(one))}
                  rowKey={(one) => one.id}
                  minWidth={480}
                />
              )}
            </Stack>
          )
        }
      </Answer>
    </Panel>
  );
}

export function One({ evaluation }: { evaluation: Evaluation }) {
  const { data: detail } = useQuery(evaluationQuery(evaluation.id));
  const { devices, reports } = evaluation.figures ?? { devices: detail?.parts.length ?? 0, reports: 0 };
  const rows = rowsOf(evaluation);
  const asked = detail?.parts ?? [];
  return (
    <Stack gap="sm" role="group" aria-label={`Evaluation of version ${evaluation.version_number}`}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <State of={evaluation.state ?? "planned"} />,{" "}
          <Reason sentence={evaluation.reason_sentence ?? ""} code={evaluation.reason_code ?? ""} />
          {evaluation.tag && `; devices with the tag ${evaluation.tag}`}
        </Text>
        <Group gap="xs">
          {asked.length > 0 && <SaveCsv title="Devices" header={PART} rows={asked.map(saved)} />}
          {isActive(evaluation) && (
            <Action
              action="fleet_evaluation.cancel_evaluation"
              label="Stop"
              danger
              confirm="Devices that still measure it stop; what has come stays."
              done="It is stopped."
              changes={[EVALUATIONS]}
              call={(via) =>
                api.POST("/api/evaluations/{id}/cancel/", { params: { path: { id: evaluation.id } }, ...via })
              }
            />
          )}
        </Group>
      </Group>
      {isActive(evaluation) && devices > 0 && (
        <Progress value={(100 * reports) / devices} aria-label={`${reports} of ${devices} devices have told`} />
      )}
      {rows.length > 0 && (
        <SmallTable
          label="Over devices, each counted once"
          columns={SUMMARIES}
          rows={rows}
          rowKey={(row) => row.name}
          minWidth={480}
        />
      )}
      <Deciles evaluation={evaluation} />
      {detail !== undefined && asked.length === 0 && devices > 0 && detail.answers_deleted_after_days !== null && (
        <Deleted days={detail.answers_deleted_after_days} />
      )}
      {isActive(evaluation) && asked.length > 0 && (
        <SmallTable
          label="Devices that are asked"
          columns={PARTS}
          rows={latestOf(asked).slice(0, SHOWN)}
          rowKey={(part) => String(part.id)}
          minWidth={420}
        />
      )}
    </Stack>
  );
}

function Deciles({ evaluation }: { evaluation: Evaluation }) {
  const summary = evaluation.figures?.summary ?? null;
  const bars = useMemo(() => {
    if (summary === null || summary.devices < 2) return undefined;
    const { what, write } = spreadOf(summary);
    const deciles = decilesOf(summary);
    return {
      write,
      title: `Deciles of the devices’ ${what}`,
      names: deciles.map(({ label }) => label),
      series: [{ label: what, values: deciles.map(({ value }) => value) }],
    };
  }, [summary]);
  if (bars === undefined) return null;
  return (
    <Suspense fallback={<Loading />}>
      <BarChart title={bars.title} names={bars.names} series={bars.series} format={bars.write} />
    </Suspense>
  );
}

const PART = ["device", "found", "told at"];

function saved(part: EvaluationPart): readonly string[] {
  return [part.device_name, foundBy(part), part.reported_at ?? ""];
}

const SUMMARIES: readonly SmallColumn<SummaryRow>[] = [
  { header: "Devices", cell: ({ name }) => name },
  { header: "Measured it", align: "end", cell: ({ devices }) => devices },
  { header: "Samples", align: "end", cell: ({ samples }) => counted(samples) },
  { header: "Mean", align: "end", cell: ({ mean }) => mean },
  { header: "Median", align: "end", cell: ({ median }) => median },
  { header: "Worst", align: "end", cell: ({ worst }) => worst },
];

const PARTS: readonly SmallColumn<EvaluationPart>[] = [
  {
    header: "Device",
    cell: (part) => (
      <Anchor component={Link} to={`/devices/${part.device}`} size="sm">
        {part.device_name}
      </Anchor>
    ),
  },
  { header: "Found", cell: foundBy },
  { header: "Told", align: "end", cell: (part) => <When at={part.reported_at} /> },
];

const EARLIER: readonly SmallColumn<Evaluation>[] = [
  { header: "Outcome", cell: (one) => <State of={one.state ?? "cancelled"} /> },
  { header: "Why", cell: (one) => <Reason sentence={one.reason_sentence ?? ""} code={one.reason_code ?? ""} /> },
  { header: "Ended", align: "end", cell: (one) => <When at={one.ended_at} /> },
];
