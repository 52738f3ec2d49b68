import { Anchor, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Empty } from "../components/Empty";
import { choicesOf } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { profileOf, samplesOf } from "../federations/triedOn";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { Far } from "./cells";
import { FIGURES } from "./figures";
import { SIMULATION_STATES, type TriedFilter, type TriedPlan, triedQuery } from "./queries";
import { PlansSource } from "./Sources";

interface Props {
  readonly search: TableSearch & TriedFilter;
  readonly onSearch: (change: TableSearch & TriedFilter) => void;
}

/** Plans of federations that were tried before they met a fleet. */
export function TriedPlans({ search, onSearch }: Props) {
  const { state, page: _page, ...kept } = search;
  const rows = useQuery(triedQuery(search));
  return (
    <DataTable
      label="Plans that were tried"
      columns={COLUMNS}
      rows={rows}
      rowKey={(plan) => plan.id}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={(change) => onSearch({ ...change, ...(state !== undefined && { state }) })}
      searchable="Federation, samples or person"
      tools={
        <Select
          aria-label="How they stand"
          placeholder="All states"
          clearable
          data={choicesOf(SIMULATION_STATES)}
          value={state ?? null}
          onChange={(chosen) => onSearch({ ...kept, ...(chosen !== null && { state: chosen }) })}
          w={150}
        />
      }
      empty={
        search.q === undefined && state === undefined ? (
          <Empty title="No plan was tried yet">
            <PlansSource />
          </Empty>
        ) : (
          <Empty title="No such plan">Take a filter away to see the others.</Empty>
        )
      }
    />
  );
}

const COLUMNS: readonly Column<TriedPlan>[] = [
  {
    id: "federation",
    header: "Plan of",
    cell: (plan) => (
      <Anchor component={Link} to={`/simulations/plans/${plan.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {plan.federation_name}
      </Anchor>
    ),
  },
  { id: "samples", header: "Samples", cell: samplesOf },
  {
    id: "fleet",
    header: "Fleet",
    cell: (plan) =>
      plan.profile === null
        ? t`${counted(plan.devices)} like its own`
        : `${counted(plan.devices)} ${profileOf(plan.profile)}`,
  },
  { id: "state", header: "How far", sort: "state", cell: (plan) => <Far of={plan} /> },
  { id: "rounds", header: "Rounds", align: "end", cell: (plan) => counted(plan.rounds) },
  ...FIGURES,
  { id: "started", header: "Started", optional: true, cell: (plan) => <When at={plan.started_at} /> },
  { id: "by", header: "By", optional: true, cell: (plan) => plan.asked_by || "–" },
  {
    id: "asked",
    header: "Asked for",
    sort: "created_at",
    optional: true,
    cell: (plan) => <When at={plan.created_at} />,
  },
];
