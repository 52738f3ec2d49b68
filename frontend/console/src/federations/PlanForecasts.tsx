import { Group, Progress, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { api } from "../api/client";
import { SHARE } from "../chart/bounds";
import { ForecastChart } from "../chart/ForecastChart";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, duration, joules, percent, wholePercent } from "../components/units";
import { ago } from "../components/When";
import { CancelJob } from "../jobs/CancelJob";
import { JOBS } from "../jobs/queries";
import { t } from "../language/t";
import { PlanDifference } from "../plan/PlanDifference";
import { Calibrations } from "./Calibrations";
import { courseOf, drawnOf, rangeIn, whole } from "./forecasts";
import { type Federation, PLAN_FORECASTS, type Plan, type PlanForecast, planForecastsQuery } from "./queries";
import { TryPlan } from "./TryPlan";
import { driftOf, profileOf, samplesOf } from "./triedOn";

interface Props {
  readonly federation: Federation;
  /** Whether the plan that runs can be tried here; beside the editor, that tries what is typed. */
  readonly offers?: boolean;
}

/** Plans that were tried before they met the fleet: what is expected of each, beside the rounds that then happened. */
export function PlanForecasts({ federation, offers = false }: Props) {
  const found = useQuery(planForecastsQuery(federation.id));
  const [chosen, choose] = useState<string | null>(null);
  const all = found.data?.forecasts ?? [];
  const trying = offers && <TryPlan federation={federation} plan={(federation.plan ?? {}) as Plan} />;
  const choosing = all.length > 1 && (
    <Select
      size="xs"
      aria-label="Which one is shown"
      data={all.map((one) => ({ value: one.job.id, label: titleOf(one) }))}
      value={chosen ?? all[0]?.job.id ?? null}
      allowDeselect={false}
      onChange={choose}
      w={220}
    />
  );
  return (
    <Panel
      title="Plans that were tried"
      tools={
        <>
          {choosing}
          {all.length > 0 && trying}
        </>
      }
    >
      <Answer of={found} height={160}>
        {({ forecasts, calibration }) => {
          const shown = forecasts.find((one) => one.job.id === chosen) ?? forecasts[0];
          if (shown === undefined) return <None>{trying}</None>;
          return (
            <Stack gap="md">
              <Shown of={shown} federation={federation} />
              <Calibrations of={calibration} />
            </Stack>
          );
        }}
      </Answer>
    </Panel>
  );
}

function None({ children }: { children: ReactNode }) {
  return (
    <Empty title="No plan was tried yet">
      <Stack gap="sm" align="flex-start">
        Try one on a simulated fleet before the real one meets it: what accuracy, time, bytes and energy to expect.
        {children}
      </Stack>
    </Empty>
  );
}

function titleOf({ job }: PlanForecast): string {
  const when = ago(new Date(job.created_at), new Date());
  return t`tried ${when}, ${job.state}`;
}

/** What was tried, how far it is, and what is expected beside what happened. */
export function Shown({ of, federation }: { of: PlanForecast; federation: Federation }) {
  return (
    <Stack gap="sm">
      <Text size="sm">{whatOf(of)}</Text>
      {of.profile_reason !== "" && (
        <Text size="sm" c="var(--quiet)">
          A shipped fleet takes this one’s place. {of.profile_reason}
        </Text>
      )}
      <Standing of={of} />
      <PlanDifference before={(federation.plan ?? {}) as Plan} after={of.plan as Plan} />
      {of.expected !== null && <Outcome of={of} />}
    </Stack>
  );
}

/** What was tried, in a sentence. */
export function whatOf(of: PlanForecast): string {
  const samples = samplesOf(of);
  if (of.drift !== null) {
    const devices = of.profile === null ? t`devices like this fleet’s` : profileOf(of.profile);
    const come = driftOf(of.drift);
    return t`${counted(of.days)} days on ${counted(of.devices)} simulated ${devices}. Samples of ${samples} ${come}.`;
  }
  return of.profile === null
    ? t`${counted(of.rounds)} rounds with ${samples} on ${counted(of.devices)} simulated devices like this fleet’s.`
    : t`${counted(of.rounds)} rounds with ${samples} on ${counted(of.devices)} simulated ${profileOf(of.profile)}.`;
}

function Standing({ of: { job } }: { of: PlanForecast }) {
  const path = { id: job.id };
  const changes = [PLAN_FORECASTS, JOBS];
  if (job.state === "queued" || job.state === "running") {
    const share = job.progress ?? 0;
    return (
      <Group gap="md" wrap="wrap">
        <State of={job.state} />
        <Stack gap={3} miw={180} flex={1}>
          <Progress value={100 * share} size="sm" aria-label={wholePercent(share)} />
          <Text size="xs" c="var(--quiet)" role="status">
            {job.state === "running" ? job.progress_sentence : job.error_code ? "" : "It waits for a worker."}
            {job.left_s != null && `, about ${duration(job.left_s)} left`}
          </Text>
          {job.error_code ? <Reason sentence={job.error_sentence ?? ""} code={job.error_code} /> : null}
        </Stack>
        <CancelJob id={job.id} changes={[PLAN_FORECASTS]} />
      </Group>
    );
  }
  if (job.state === "succeeded") return null;
  return (
    <Group gap="md" wrap="wrap">
      <State of={job.state ?? "failed"} />
      {job.error_code ? <Reason sentence={job.error_sentence ?? ""} code={job.error_code} /> : null}
      <Action
        action="cloud_training.retry_job"
        label="Try again"
        changes={changes}
        call={(via) => api.POST("/api/jobs/{id}/retry/", { params: { path }, ...via })}
      />
    </Group>
  );
}

type Fact = readonly [string, string];
type Found = NonNullable<PlanForecast["expected"]>;

/** How exact the last version is on devices; nothing, where an older release tried the plan. */
function onDevices({ device_accuracy_median: most, device_accuracy_worst_decile: worst }: Found): readonly Fact[] {
  if (most === null || worst === null) return [];
  return [
    [t`Accuracy on devices, median`, rangeIn(most, percent)],
    [t`Accuracy on the worst tenth of devices`, rangeIn(worst, percent)],
  ];
}

/** From what it begins with to what it comes to. */
function learned({ begins_with: first, accuracy, moments }: Found): string {
  const [from, to] = [percent(first), rangeIn(accuracy, percent)];
  return moments.length > 0
    ? t`${to} of all predictions before devices learn; ${from} without learning`
    : t`from ${from} to ${to} on samples held out`;
}

/** What rounds take; nothing, where the plan holds none. */
function ofRounds({ duration_s, lost, merged_share, up_bytes }: Found): readonly Fact[] {
  if (duration_s === null || lost === null || merged_share === null || up_bytes === null) return [];
  return [
    [t`A round takes`, rangeIn(duration_s, duration)],
    [t`Lost devices a round`, rangeIn(lost, whole)],
    [t`Rounds that merge`, percent(merged_share)],
    [t`Sent up a round`, rangeIn(up_bytes, bytes)],
  ];
}

function Outcome({ of }: { of: PlanForecast }) {
  const { accuracy, durations } = useMemo(() => drawnOf(of), [of]);
  const course = useMemo(() => courseOf(of), [of]);
  const expected = of.expected;
  if (expected === null) return null;
  return (
    <>
      {course.length > 0 && (
        <ForecastChart
          title="Accuracy by day, before devices learn from the samples"
          rounds={course}
          format={percent}
          bounds={SHARE}
          along="days"
        />
      )}
      {accuracy.length > 0 && (
        <>
          <ForecastChart title="Accuracy by round under the plan" rounds={accuracy} format={percent} bounds={SHARE} />
          <ForecastChart title="Duration of rounds under the plan" rounds={durations} format={duration} />
        </>
      )}
      <Facts
        of={[
          [t`Accuracy`, learned(expected)],
          ...onDevices(expected),
          ...ofRounds(expected),
          [t`Traffic a device, up and down`, rangeIn(expected.bytes_per_device, bytes)],
          [t`Energy a device`, rangeIn(expected.joules_per_device, joules)],
          [t`Devices that take part`, rangeIn(expected.participants, whole)],
          [course.length > 0 ? t`All together` : t`All rounds together`, duration(expected.simulated_s)],
        ]}
      />
      <Text size="xs" c="var(--quiet)">
        In parentheses, where four of five should lie: from {expected.draws} simulations that differ in their seed
        {expected.durations === "replayed" ? "; what rounds take, from replaying what devices did" : ""}.
        {of.happened.length === 0 ? " No round was held under this plan since." : ""}
      </Text>
    </>
  );
}
