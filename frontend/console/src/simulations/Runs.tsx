import { Anchor, Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Empty } from "../components/Empty";
import { choicesOf } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { Far } from "./cells";
import { FIGURES } from "./figures";
import { nameOf, type Run, type RunsFilter, runsQuery, SIMULATION_STATES } from "./queries";
import { RunsSource } from "./Sources";
import { kindsOf, variedOf } from "./varied";

interface Props {
  readonly search: TableSearch & RunsFilter;
  readonly onSearch: (change: TableSearch & RunsFilter) => void;
}

/** Runs of simulated fleets that people had the platform's workers perform, from a command or a notebook. */
export function Runs({ search, onSearch }: Props) {
  const { state, fleet, page: _page, ...kept } = search;
  const filters = { ...(state !== undefined && { state }), ...(fleet !== undefined && { fleet }) };
  const rows = useQuery(runsQuery(search));
  const varied = useMemo(() => variedOf(rows.data?.results ?? []), [rows.data]);
  const columns = useMemo(() => columnsOf(varied), [varied]);
  return (
    <DataTable
      label="Runs"
      columns={columns}
      rows={rows}
      rowKey={(run) => run.id}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={(change) => onSearch({ ...change, ...filters })}
      searchable="Model, samples or person"
      tools={
        <>
          <Select
            aria-label="How runs stand"
            placeholder="All states"
            clearable
            data={choicesOf(SIMULATION_STATES)}
            value={state ?? null}
            onChange={(chosen) => {
              const { state: _old, ...others } = filters;
              onSearch({ ...kept, ...others, ...(chosen !== null && { state: chosen }) });
            }}
            w={150}
          />
          {fleet !== undefined && (
            <Button
              size="sm"
              variant="default"
              onClick={() => onSearch({ ...kept, ...(state !== undefined && { state }) })}
            >
              Show all sweeps
            </Button>
          )}
        </>
      }
      empty={
        search.q === undefined && state === undefined && fleet === undefined ? (
          <Empty title="No run yet">
            <RunsSource />
          </Empty>
        ) : (
          <Empty title="No such run">Take a filter away to see the others.</Empty>
        )
      }
    />
  );
}

function columnsOf(varied: ReadonlyMap<string, string>): readonly Column<Run>[] {
  return [
    {
      id: "run",
      header: "Run",
      cell: (run) => (
        <Anchor component={Link} to={`/simulations/${run.id}`} fw={550} c="inherit" underline="hover" size="sm">
          {varied.get(run.id) || kindsOf(run.wanted.plan) || "run"}
        </Anchor>
      ),
    },
    {
      id: "fleet",
      header: "Model and samples",
      cell: (run) => (
        <Anchor
          component={Link}
          to="/simulations"
          search={{ tab: "runs", fleet: run.fleet } as never}
          c="inherit"
          underline="hover"
          size="sm"
          title="The runs of this sweep"
        >
          {nameOf(run)}
        </Anchor>
      ),
    },
    { id: "state", header: "How far", sort: "state", cell: (run) => <Far of={run} /> },
    { id: "rounds", header: "Rounds", align: "end", cell: (run) => counted(run.wanted.rounds) },
    ...FIGURES,
    { id: "started", header: "Started", optional: true, cell: (run) => <When at={run.started_at} /> },
    { id: "by", header: "By", optional: true, cell: (run) => run.asked_by || "–" },
    {
      id: "asked",
      header: "Asked for",
      sort: "created_at",
      optional: true,
      cell: (run) => <When at={run.created_at} />,
    },
    { id: "ended", header: "Ended", sort: "finished_at", optional: true, cell: (run) => <When at={run.finished_at} /> },
  ];
}
