import { Anchor, Grid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { TimeRange } from "../chart/TimeRange";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { bytes, counted, duration, percent } from "../components/units";
import { When } from "../components/When";
import { federationQuery } from "../federations/queries";
import { requestsOfQuery } from "../help/queries";
import { graphQuery } from "../models/queries";
import type { Part } from "../parts/queries";
import { ExportCsv } from "../table/ExportCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { marksOf } from "./marks";
import { partsQuery } from "./queries";

const SHOWN = 10;

/** The rounds it took part in: how its model did, which version it had, how quick it was, what it took and sent. */
export function DeviceHistory({ id }: { id: string }) {
  return (
    <Answer of={useQuery(partsQuery(id))} height={240}>
      {({ results: parts }) =>
        parts.length === 0 ? (
          <Panel title="Rounds">
            <Text size="sm" c="var(--quiet)">
              It has not been asked to take part in a round yet.
            </Text>
          </Panel>
        ) : (
          <>
            <Figures id={id} parts={parts} />
            <Rounds id={id} parts={parts} />
          </>
        )
      }
    </Answer>
  );
}

/** Versions by their id, of the pair that the latest part was in. */
function useVersionNumbers(federation: string | undefined): ReadonlyMap<string, number> {
  const { data: held } = useQuery({ ...federationQuery(federation ?? ""), enabled: federation !== undefined });
  const { data: graph } = useQuery({ ...graphQuery(held?.pair ?? ""), enabled: held !== undefined });
  return useMemo(() => new Map(graph?.versions.map(({ id, number }) => [id, number])), [graph]);
}

function Figures({ id, parts }: { id: string; parts: readonly Part[] }) {
  const numbers = useVersionNumbers(parts[0]?.federation);
  const { data: help } = useQuery(requestsOfQuery(id));
  const drawn = useMemo(() => {
    const delivered = parts.flatMap((part) => (part.delivered === null ? [] : [{ part, update: part.delivered }]));
    const ordered = delivered.reverse();
    return {
      times: ordered.map(({ update }) => Date.parse(update.received_at) / 1000),
      accuracy: [{ label: "accuracy", values: ordered.map(({ update }) => update.accuracy_before) }],
      version: [{ label: "version", values: ordered.map(({ part }) => numbers.get(part.base_version) ?? null) }],
      step: [
        {
          label: "train step",
          values: ordered.map(({ update }) => (update.steps_done === 0 ? null : update.train_s / update.steps_done)),
        },
      ],
      memory: [{ label: "memory", values: ordered.map(({ update }) => update.train_memory_bytes) }],
    };
  }, [parts, numbers]);
  const marks = useMemo(() => marksOf(parts, help?.results ?? [], numbers), [parts, help, numbers]);
  if (drawn.times.length < 2) return null;
  return (
    <Grid gap="lg">
      <Grid.Col span={12}>
        <Panel title="How its model did" tools={<TimeRange />}>
          <TimeChart
            title="Accuracy on its own held-out samples, before each round"
            times={drawn.times}
            series={drawn.accuracy}
            marks={marks}
            format={percent}
            bounds={SHARE}
          />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Panel title="Which version it had">
          <TimeChart
            title="Number of the version that it began each round with"
            times={drawn.times}
            series={drawn.version}
            bounds={FROM_NOTHING}
            stepped
            whole
          />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Panel title="How quick it is">
          <TimeChart
            title="A train step in each round"
            times={drawn.times}
            series={drawn.step}
            format={duration}
            bounds={FROM_NOTHING}
          />
        </Panel>
      </Grid.Col>
      {drawn.memory.some(({ values }) => values.some((value) => value !== null)) && (
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Panel title="How much memory it takes">
            <TimeChart
              title="The agent's largest resident size while it trained, in each round"
              times={drawn.times}
              series={drawn.memory}
              format={bytes}
              bounds={FROM_NOTHING}
            />
          </Panel>
        </Grid.Col>
      )}
    </Grid>
  );
}

function Rounds({ id, parts }: { id: string; parts: readonly Part[] }) {
  return (
    <Panel title="Rounds" tools={<ExportCsv path="/api/assignments/" query={{ device: id }} />}>
      <SmallTable
        label="Rounds"
        columns={COLUMNS}
        rows={parts.slice(0, SHOWN)}
        rowKey={(part) => part.id}
        minWidth={640}
      />
      {parts.length > SHOWN && (
        <Anchor component={Link} to="/parts" search={{ device: id } as never} size="sm">
          All its rounds
        </Anchor>
      )}
    </Panel>
  );
}

const COLUMNS: readonly SmallColumn<Part>[] = [
  {
    header: "Round",
    cell: (part) => (
      <Anchor component={Link} to={`/federations/${part.federation}/rounds/${part.round}`} size="sm">
        {part.federation_name}, round {part.round_number}
      </Anchor>
    ),
  },
  {
    header: "Its part",
    cell: (part) => (
      <>
        <State of={part.state} />
        {part.reason_sentence !== "" && (
          <Text size="xs" c="var(--quiet)">
            {part.reason_sentence}
          </Text>
        )}
      </>
    ),
  },
  {
    header: "Sent",
    align: "end",
    cell: ({ delivered }) => (delivered === null ? "–" : bytes(delivered.size_bytes)),
  },
  { header: "Samples", align: "end", cell: ({ delivered }) => (delivered == null ? "–" : counted(delivered.samples)) },
  {
    header: "Trained for",
    align: "end",
    cell: ({ delivered }) => (delivered === null ? "–" : duration(delivered.train_s)),
  },
  { header: "When", cell: (part) => <When at={part.changed_at} /> },
];
