import { Anchor, Button, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Change } from "../components/Change";
import { Empty } from "../components/Empty";
import { choicesOf, State } from "../components/State";
import { bytes, duration, percent } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import { choice } from "../table/search";
import { metric, ROUND_STATES, type Round, type RoundsSearch, roundsAsked, roundsQuery } from "./queries";

interface Props {
  readonly federation: string;
  readonly search: RoundsSearch;
  readonly onSearch: (change: RoundsSearch) => void;
}

export function RoundsTable({ federation, search, onSearch }: Props) {
  const { page: _page, state, ...table } = search;
  return (
    <DataTable
      label="Rounds"
      columns={COLUMNS}
      rows={useQuery(roundsQuery(federation, search))}
      rowKey={(round) => String(round.id)}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={(change) => onSearch({ ...(state !== undefined && { state }), ...change })}
      tools={
        <>
          <Select
            aria-label="Outcome"
            placeholder="All rounds"
            clearable
            data={choicesOf(ROUND_STATES)}
            value={state ?? null}
            onChange={(value) => {
              const next = choice(value, ROUND_STATES);
              onSearch({ ...table, ...(next !== undefined && { state: next }) });
            }}
            w={160}
          />
          <ExportCsv path="/api/rounds/" query={roundsAsked(federation, search)} />
          <Button component={Link} to="/parts" search={{ federation } as never} size="sm" variant="default">
            Every device’s part
          </Button>
        </>
      }
      empty={
        state === undefined ? (
          <Empty title="No round yet">The first one is planned as soon as the federation is started.</Empty>
        ) : (
          <Empty title="No such round">Take the filter away to see all rounds.</Empty>
        )
      }
    />
  );
}

const COLUMNS: readonly Column<Round>[] = [
  {
    id: "number",
    header: "Round",
    sort: "number",
    cell: (round) => (
      <Anchor component={Link} to={`/federations/${round.federation}/rounds/${round.id}`} size="sm">
        {round.number}
      </Anchor>
    ),
  },
  {
    id: "state",
    header: "Outcome",
    cell: (round) => (
      <>
        <State of={round.state} />
        {round.reason_sentence !== "" && (
          <Text size="xs" c="var(--quiet)">
            {round.reason_sentence}
          </Text>
        )}
      </>
    ),
  },
  {
    id: "updates",
    header: "Updates",
    sort: "updates",
    align: "end",
    cell: (round) => (
      <Text component="span" size="sm" style={{ whiteSpace: "nowrap" }}>
        {t`${round.updates} of ${round.devices}`}
      </Text>
    ),
  },
  {
    id: "accuracy",
    header: "Accuracy",
    align: "end",
    cell: (round) => (
      <Text component="span" size="sm" style={{ whiteSpace: "nowrap" }}>
        {figure(round, "accuracy", percent)}
        <Change value={round.change?.accuracy} format={percent} against={against(round)} />
      </Text>
    ),
  },
  {
    id: "duration",
    header: "Took",
    align: "end",
    cell: (round) => (
      <Text component="span" size="sm" style={{ whiteSpace: "nowrap" }}>
        {round.duration_s === null ? "–" : duration(round.duration_s)}
        <Change value={round.change?.duration_s} format={duration} against={against(round)} />
      </Text>
    ),
  },
  { id: "bytes", header: "Uploaded", align: "end", cell: (round) => figure(round, "update_bytes", bytes) },
  { id: "ended", header: "Ended", sort: "finished_at", cell: (round) => <When at={round.finished_at} /> },
];

function against({ change }: Round): string {
  return change === null ? "" : t`against round ${change.round}`;
}

function figure(round: Round, name: string, format: (value: number) => string): string {
  const value = metric(round, name);
  return value === null ? "–" : format(value);
}
