import { Anchor, Group, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { AskWhy } from "../components/AskWhy";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { ExportCsv } from "../table/ExportCsv";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { holdersQuery } from "./holders";
import { PAIRS, VERSIONS } from "./queries";
import {
  absentOf,
  besideOf,
  errorsOf,
  isActive,
  latestOf,
  phaseOf,
  progressOf,
  ROLLOUTS,
  type Rollout,
  rolloutQuery,
  rolloutsQuery,
  type Trial,
  toleranceOf,
  verdictOf,
} from "./rollouts";

const SHOWN = 8;

/** What is on its way to the devices of a pair, live, and how the latest roll-outs ended; nothing where there are none. */
export function Rollouts({ pair }: { pair: string }) {
  return (
    <Answer of={useQuery(rolloutsQuery(pair))} height={120}>
      {({ results }) => results.length > 0 && <Some pair={pair} rollouts={results} />}
    </Answer>
  );
}

function Some({ pair, rollouts }: { pair: string; rollouts: readonly Rollout[] }) {
  const ended = rollouts.filter((one) => !isActive(one));
  return (
    <Panel title="Roll-outs" tools={<ExportCsv path="/api/rollouts/" query={{ pair }} />}>
      <Stack gap="lg">
        {rollouts.filter(isActive).map((one) => (
          <Active key={one.id} rollout={one} />
        ))}
        {ended.length > 0 && (
          <SmallTable
            label="Roll-outs that have ended"
            columns={ENDED}
            rows={ended}
            rowKey={(one) => one.id}
            minWidth={900}
          />
        )}
      </Stack>
    </Panel>
  );
}

function Active({ rollout }: { rollout: Rollout }) {
  const { data: detail } = useQuery(rolloutQuery(rollout.id));
  const { devices, reports } = progressOf(rollout);
  const errors = errorsOf(rollout);
  const beside = besideOf(rollout);
  const phase = phaseOf(rollout);
  const absent = absentOf(rollout);
  const [why, say] = useState("");
  const { data: holders } = useQuery(holdersQuery(rollout.pair));
  const told = { params: { path: { id: rollout.id } }, body: { why } };
  const changes = [ROLLOUTS, PAIRS, VERSIONS];
  const onDone = () => say("");
  const asking = (sentence: string) => (
    <AskWhy says={sentence} where={t`everybody reads it beside the roll-out`} why={why} onWhy={say} />
  );
  const others = rollout.champion === null ? undefined : holders?.get(rollout.champion);
  return (
    <Stack gap="sm" role="group" aria-label={`Roll-out of version ${rollout.version_number}`}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          Version {rollout.version_number}: <State of={rollout.state ?? "planned"} />,{" "}
          <Reason sentence={rollout.reason_sentence ?? ""} code={rollout.reason_code ?? ""} />
        </Text>
        <Group gap="xs">
          {detail !== undefined && <SaveCsv title="Canary group" header={TRIAL} rows={detail.trials.map(rowOf)} />}
          <Action
            action="rollouts.promote_rollout"
            label="Promote now"
            confirm={asking(
              others === undefined
                ? t`Every device gets version ${rollout.version_number}, whatever has been reported.`
                : t`Every device gets version ${rollout.version_number}, whatever has been reported: ${counted(others)} hold version ${rollout.champion_number ?? "–"} now.`,
            )}
            onDone={onDone}
            done={`Version ${rollout.version_number} is in use.`}
            changes={changes}
            call={(via) => api.POST("/api/rollouts/{id}/promote/", { ...told, ...via })}
          />
          {rollout.state === "measuring" && (
            <Action
              action="rollouts.pass_phase"
              label="Go on"
              confirm={asking(
                rollout.phase + 1 < rollout.phases
                  ? t`The next phase of version ${rollout.version_number} begins, whatever the ${counted(devices)} devices of this one have told.`
                  : t`This is the last phase: every device gets version ${rollout.version_number}, whatever has been told.`,
              )}
              onDone={onDone}
              done={t`The phase is passed.`}
              changes={changes}
              call={(via) => api.POST("/api/rollouts/{id}/pass-phase/", { ...told, ...via })}
            />
          )}
          <Action
            action="rollouts.cancel_rollout"
            label="Stop"
            danger
            confirm={asking(
              devices === 1
                ? t`The device that holds version ${rollout.version_number} goes back to the version in use.`
                : t`The ${counted(devices)} devices that hold version ${rollout.version_number} go back to the version in use.`,
            )}
            onDone={onDone}
            done="The canary group goes back to the version in use."
            changes={changes}
            call={(via) => api.POST("/api/rollouts/{id}/cancel/", { ...told, ...via })}
          />
        </Group>
      </Group>
      {devices > 0 && (
        <Progress value={(100 * reports) / devices} aria-label={`${reports} of ${devices} devices have reported`} />
      )}
      <Facts
        of={[
          ...(phase === undefined ? [] : [[t`Phase`, phase] as const]),
          [t`Devices that have told`, devices === 0 ? "–" : t`${reports} of ${devices}`],
          ...(absent === undefined ? [] : [[t`Absent devices of this phase`, absent] as const]),
          ...(rollout.absent_since == null
            ? []
            : [[t`Waits for them since`, <When key="absent" at={rollout.absent_since} />] as const]),
          [errors?.what === "loss" ? t`Its loss` : t`Its error`, errors?.candidate ?? "–"],
          [errors?.what === "loss" ? t`The champion's loss` : t`The champion's error`, errors?.champion ?? "–"],
          ...(beside === undefined
            ? []
            : [
                [t`Answers agree`, beside.agreement] as const,
                [t`Its answers take`, beside.candidate] as const,
                [t`The champion's take`, beside.champion] as const,
              ]),
          [t`May be worse by`, toleranceOf(rollout)],
          [t`Judged at the latest`, <When key="due" at={rollout.due_at} />],
        ]}
      />
      {detail !== undefined && detail.trials.length > 0 && (
        <SmallTable
          label="Canary group"
          columns={TRIALS}
          rows={latestOf(detail.trials).slice(0, SHOWN)}
          rowKey={(trial) => String(trial.id)}
          minWidth={420}
        />
      )}
      {detail !== undefined && detail.trials.length > SHOWN && (
        <Text size="sm" c="var(--quiet)">
          The latest {SHOWN} of {detail.trials.length} devices.
        </Text>
      )}
    </Stack>
  );
}

const TRIAL = ["device", "found", "told at"];

function rowOf(trial: Trial): readonly string[] {
  return [trial.device_name, verdictOf(trial), trial.reported_at ?? ""];
}

const TRIALS: readonly SmallColumn<Trial>[] = [
  {
    header: "Device",
    cell: (trial) => (
      <Anchor component={Link} to={`/devices/${trial.device}`} size="sm">
        {trial.device_name}
      </Anchor>
    ),
  },
  { header: "Found", cell: verdictOf },
  { header: "Told", align: "end", cell: (trial) => <When at={trial.reported_at} /> },
];

const ENDED: readonly SmallColumn<Rollout>[] = [
  { header: "Version", cell: (one) => one.version_number },
  { header: "Outcome", cell: (one) => <State of={one.state ?? "cancelled"} /> },
  { header: "Why", cell: (one) => <Reason sentence={one.reason_sentence ?? ""} code={one.reason_code ?? ""} /> },
  { header: "Its error", align: "end", cell: (one) => errorsOf(one)?.candidate ?? "–" },
  { header: "The champion's", align: "end", cell: (one) => errorsOf(one)?.champion ?? "–" },
  { header: "Answers agree", align: "end", cell: (one) => besideOf(one)?.agreement ?? "–" },
  { header: "Ended", align: "end", cell: (one) => <When at={one.ended_at} /> },
];
