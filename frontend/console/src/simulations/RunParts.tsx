import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { Watched } from "../chart/watched";
import { Answer } from "../components/Answer";
import { Facts } from "../components/Facts";
import { Loading } from "../components/Loading";
import { numbers } from "../components/locale";
import { Panel } from "../components/Panel";
import { bytes, counted, duration, joules, percent } from "../components/units";
import { t } from "../language/t";
import { SmallTable } from "../table/SmallTable";
import { Far } from "./cells";
import { Accuracy, onDevices } from "./figures";
import type { Outcome } from "./outcome";
import { PlanTable } from "./PlanTable";
import { type Run, type RunDetail, sweepQuery } from "./queries";
import { kindsOf, variedOf } from "./varied";

const RoundChart = lazy(() => import("../chart/RoundChart").then(({ RoundChart }) => ({ default: RoundChart })));
const BarChart = lazy(() => import("../chart/BarChart").then(({ BarChart }) => ({ default: BarChart })));
const NATS = numbers({ maximumSignificantDigits: 3 });

interface Props {
  readonly run: RunDetail;
  /** Undefined: it has not ended well. */
  readonly outcome: Outcome | undefined;
}

/** A run: what it found, what was asked of it, and its sweep. */
export function RunParts({ run, outcome }: Props) {
  return (
    <Stack gap="lg">
      {outcome === undefined ? (
        <Panel title="How far it is">
          {run.state === "queued" && run.reason_code === "" ? (
            <Text size="sm">It waits for a worker of the platform.</Text>
          ) : (
            <Stack gap="xs">
              <Far of={run} />
              {run.state === "cancelled" && (
                <Text size="sm" c="var(--quiet)">
                  It had held {percent(run.progress)} of its rounds. The same command has it go on from there.
                </Text>
              )}
            </Stack>
          )}
        </Panel>
      ) : (
        <Found run={run} of={outcome} />
      )}
      <Sweep run={run} />
      <Asked of={run} />
    </Stack>
  );
}

function Found({ run, of }: { run: Run; of: Outcome }) {
  const [pointed] = useState(() => new Watched<number | null>(null));
  const { rounds, charts } = useMemo(() => chartsOf(of), [of]);
  const classes = useMemo(() => [{ label: "accuracy", values: of.class_accuracy }], [of]);
  const names = useMemo(() => of.class_accuracy.map((_one, place) => String(place)), [of]);
  return (
    <>
      {(rounds.length > 0 || !of.drift) && (
        <Panel title="Rounds">
          <Suspense fallback={<Loading height={600} />}>
            <Stack gap="md">
              {charts.map((chart) => (
                <RoundChart key={chart.title} {...chart} rounds={rounds} pointed={pointed} />
              ))}
            </Stack>
          </Suspense>
        </Panel>
      )}
      <Panel title="What it found">
        <Stack gap="sm">
          <Facts of={factsOf(run, of)} />
          {of.executor_reason !== "" && (
            <Text size="sm" c="var(--quiet)">
              Devices were trained one by one. {of.executor_reason}
            </Text>
          )}
          {of.ended === "horizon" && !of.drift && (
            <Text size="sm" c="var(--quiet)">
              The simulated time was over before all rounds were held.
            </Text>
          )}
        </Stack>
      </Panel>
      {of.class_accuracy.length > 1 && (
        <Panel title="Classes">
          <Suspense fallback={<Loading height={200} />}>
            <BarChart title="Accuracy of each class" names={names} series={classes} format={percent} most={1} />
          </Suspense>
        </Panel>
      )}
      <Panel title="Traffic">
        <SmallTable
          label="Traffic by kind of message"
          columns={[
            { header: "Message", cell: ([kind]) => kind.replaceAll("_", " ") },
            { header: "Messages", align: "end", cell: ([kind]) => counted(of.messages_by_kind[kind] ?? 0) },
            { header: "All together", align: "end", cell: ([, size]) => bytes(size) },
            { header: "A device", align: "end", cell: ([, size]) => bytes(size / Math.max(1, of.participants)) },
          ]}
          rows={Object.entries(of.bytes_by_kind)}
          rowKey={([kind]) => kind}
          minWidth={360}
        />
      </Panel>
    </>
  );
}

function chartsOf({ rounds }: Outcome) {
  const line = (label: string, value: (round: Outcome["rounds"][number]) => number | null) => ({
    label,
    values: rounds.map(value),
  });
  return {
    rounds: rounds.map(({ number }) => number),
    charts: [
      {
        title: "Accuracy by round",
        series: [line(t`accuracy`, (round) => round.accuracy)],
        format: percent,
        bounds: SHARE,
      },
      {
        title: "Loss by round",
        series: [line(t`loss`, (round) => round.loss)],
        format: NATS.format,
        bounds: FROM_NOTHING,
      },
      {
        title: "Devices by round",
        series: [
          line(t`invited`, (round) => round.invited),
          line(t`delivered`, (round) => round.delivered),
          line(t`lost`, (round) => round.lost),
        ],
        format: counted,
        bounds: FROM_NOTHING,
      },
    ],
  };
}

function factsOf(run: Run, of: Outcome): readonly (readonly [string, string])[] {
  const { device_accuracy_median: most, device_accuracy_worst_decile: worst, joules_per_device: energy } = run;
  const merged = of.rounds.filter(({ outcome }) => outcome === "merged").length;
  return [
    [t`Accuracy`, judged(of)],
    ...changed(of),
    [t`Accuracy on devices`, onDevices(most, worst)],
    [t`Rounds that merged`, t`${counted(merged)} of ${counted(of.rounds.length)}`],
    ...failed(of),
    [t`All rounds together`, duration(of.simulated_s)],
    [t`Devices that took part`, t`${counted(of.participants)} of ${counted(of.devices)}`],
    [t`Updates that counted`, counted(of.client_rounds)],
    [t`Training on a device`, duration(of.trained_s / Math.max(1, of.participants))],
    [t`Traffic a device`, run.bytes_per_device === null ? "–" : bytes(run.bytes_per_device)],
    [t`Energy a device`, energy === null ? "–" : joules(energy)],
  ];
}

function judged(of: Outcome): string {
  const accuracy = percent(of.accuracy);
  return of.drift
    ? t`${accuracy}, of each sample before its device learned from it`
    : t`${accuracy} on ${counted(of.held_out)} samples held out`;
}

/** What became of changes of devices' data, and of requests for help. */
function failed({ rounds }: Outcome): readonly (readonly [string, string])[] {
  const faults = rounds.flatMap(({ fault }) => fault ?? []);
  const last = faults.at(-1);
  return last === undefined
    ? []
    : [[t`Merges that gave no version`, t`${counted(faults.length)}, the last: ${last.sentence}`]];
}

function changed({ recoveries = [], help = [] }: Outcome): readonly (readonly [string, string])[] {
  const recovered = recoveries.filter(({ batches }) => batches !== null).length;
  const kept = help.filter(({ outcome }) => outcome === "kept").length;
  return [
    ...(recoveries.length > 0
      ? [[t`Changes recovered from`, t`${counted(recovered)} of ${counted(recoveries.length)}`] as const]
      : []),
    ...(help.length > 0
      ? [
          [
            t`Requests for help`,
            t`${counted(help.length)}, of which ${counted(kept)} gave a portion that was kept`,
          ] as const,
        ]
      : []),
  ];
}

/** The runs of the same fleet, the best first. */
function Sweep({ run }: { run: Run }) {
  const found = useQuery(sweepQuery(run.fleet));
  return (
    <Answer of={found} height={160}>
      {({ results, count }) => (count > 1 ? <SweepTable runs={results} count={count} run={run} /> : null)}
    </Answer>
  );
}

function SweepTable({ runs, count, run }: { runs: readonly Run[]; count: number; run: Run }) {
  const varied = variedOf(runs);
  return (
    <Panel
      title="The sweep"
      tools={
        <Anchor component={Link} to="/simulations" search={{ tab: "runs", fleet: run.fleet } as never} size="sm">
          All {counted(count)} runs
        </Anchor>
      }
    >
      <SmallTable
        label="Runs of the sweep, the best first"
        columns={[
          {
            header: "Run",
            cell: (one) =>
              one.id === run.id ? (
                varied.get(one.id)
              ) : (
                <Anchor component={Link} to={`/simulations/${one.id}`} size="sm">
                  {varied.get(one.id)}
                </Anchor>
              ),
          },
          { header: "How far", cell: (one) => <Far of={one} /> },
          { header: "Accuracy", align: "end", cell: (one) => <Accuracy of={one} /> },
          {
            header: "Accuracy on devices",
            align: "end",
            cell: (one) => onDevices(one.device_accuracy_median, one.device_accuracy_worst_decile),
          },
          {
            header: "Traffic a device",
            align: "end",
            cell: (one) => (one.bytes_per_device === null ? "–" : bytes(one.bytes_per_device)),
          },
          {
            header: "Energy a device",
            align: "end",
            cell: (one) => (one.joules_per_device === null ? "–" : joules(one.joules_per_device)),
          },
        ]}
        rows={runs}
        rowKey={(one) => one.id}
        minWidth={760}
        strong={(one) => one.id === run.id}
      />
    </Panel>
  );
}

/** What was asked for: a kind in each slot, and its hyperparameters. */
function Asked({ of: { wanted, devices } }: { of: Run }) {
  return (
    <Panel title="Plan and settings">
      <Stack gap="sm">
        <Facts
          of={[
            [t`Plan`, kindsOf(wanted.plan) || "–"],
            [t`Seed`, String(wanted.seed)],
            [t`Rounds`, counted(wanted.rounds)],
            [
              t`Versions are measured`,
              wanted.evaluate_every === 1 ? t`every round` : t`every ${wanted.evaluate_every} rounds`,
            ],
            [t`Devices`, devices === null ? t`as many as the split makes` : counted(devices)],
          ]}
        />
        <PlanTable plan={wanted.plan} />
      </Stack>
    </Panel>
  );
}
