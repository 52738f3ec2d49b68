import { Anchor, Badge, Grid, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { graphQuery, nameOf, type Version } from "../models/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { Distances } from "./Distances";
import {
  type Group,
  groupsQuery,
  type Membership,
  membersAsked,
  membersQuery,
  type Split,
  splitsQuery,
} from "./division";
import type { Federation } from "./queries";
import { Splits } from "./Splits";

export interface GroupsSearch extends TableSearch {
  readonly group?: number;
}

interface Props {
  readonly federation: Federation;
  readonly search: GroupsSearch;
  readonly onSearch: (change: GroupsSearch) => void;
}

/** The groups that a federation's devices are divided into: why, how far apart, whose models, and who is in them. */
export function Groups({ federation, search, onSearch }: Props) {
  const groups = useQuery(groupsQuery(federation.id));
  return (
    <Answer of={useQuery(splitsQuery(federation.id))}>
      {({ results: splits }) =>
        splits[0] === undefined ? (
          <NoSplit federation={federation} />
        ) : (
          <Stack gap="lg">
            <Reasons splits={splits} latest={splits[0]} />
            <Answer of={groups}>
              {({ results }) =>
                results.length > 0 && (
                  <Current federation={federation} groups={results} search={search} onSearch={onSearch} />
                )
              }
            </Answer>
          </Stack>
        )
      }
    </Answer>
  );
}

function Reasons({ splits, latest }: { splits: readonly Split[]; latest: Split }) {
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Splits splits={splits} />
      </Grid.Col>
      {Object.keys(latest.distances).length > 0 && (
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Distances of={latest} />
        </Grid.Col>
      )}
    </Grid>
  );
}

function Current({ federation, groups, search, onSearch }: Props & { readonly groups: readonly Group[] }) {
  const { data: graph } = useQuery(graphQuery(federation.pair));
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="lg">
        {groups.map((group) => (
          <Card
            key={group.id}
            group={group}
            versions={graph?.versions ?? []}
            onMembers={() => onSearch({ group: group.id })}
          />
        ))}
      </SimpleGrid>
      <Members federation={federation.id} groups={groups} search={search} onSearch={onSearch} />
    </>
  );
}

function NoSplit({ federation }: { federation: Federation }) {
  const { groups } = federation.plan as Record<string, { kind?: string } | undefined>;
  if (groups?.kind === undefined || groups.kind === "one") {
    return (
      <Empty title="One model serves all">
        The plan asks for one group. Choose another kind under “Does one model serve all?” in the plan, and rounds will
        divide the devices by what their models say.
      </Empty>
    );
  }
  return <Empty title="Not divided yet">The first round that publishes says whether one model serves all.</Empty>;
}

/** One group and its lineage. */
function Card({ group, versions, onMembers }: { group: Group; versions: readonly Version[]; onMembers: () => void }) {
  const used = (role: Version["role"]) => {
    const version = versions.find((one) => one.role === role && one.lineage === group.lineage && one.champion);
    return version === undefined ? (
      "–"
    ) : (
      <Anchor key={role} component={Link} to={`/models/versions/${version.id}`} size="sm">
        {nameOf(version)}
      </Anchor>
    );
  };
  return (
    <Panel title={group.name}>
      <Facts
        of={[
          [
            t`Members`,
            <Anchor key="members" component="button" size="sm" onClick={onMembers}>
              {group.members === 1 ? "1 device" : `${counted(group.members)} devices`}
            </Anchor>,
          ],
          [t`Since`, <When key="since" at={group.since} />],
          [t`Devices use`, used("device")],
          [t`Taught by`, used("cloud")],
        ]}
      />
    </Panel>
  );
}

function Members({
  federation,
  groups,
  search,
  onSearch,
}: {
  federation: string;
  groups: readonly Group[];
  search: GroupsSearch;
  onSearch: (change: GroupsSearch) => void;
}) {
  const { group, page: _page, ...table } = search;
  const name = groups.find((one) => one.id === group)?.name ?? t`one group`;
  return (
    <section aria-label="Members">
      <DataTable
        label="Members"
        columns={COLUMNS}
        rows={useQuery(membersQuery(federation, search))}
        rowKey={(membership) => String(membership.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={(change) => onSearch({ ...(group !== undefined && { group }), ...change })}
        tools={
          <>
            {group !== undefined && (
              <Badge
                component="button"
                variant="light"
                color="gray"
                size="lg"
                tt="none"
                onClick={() => onSearch(table)}
                aria-label={`No longer only ${name}`}
              >
                {name} ×
              </Badge>
            )}
            <ExportCsv path="/api/memberships/" query={membersAsked(federation, search)} />
          </>
        }
        empty={<Empty title="Nobody is in it">Splits alone put devices into groups.</Empty>}
      />
    </section>
  );
}

const COLUMNS: readonly Column<Membership>[] = [
  {
    id: "device",
    header: "Device",
    sort: "device",
    cell: (membership) => (
      <Anchor component={Link} to={`/devices/${membership.device}`} fw={550} c="inherit" underline="hover" size="sm">
        {membership.device_name}
      </Anchor>
    ),
  },
  { id: "group", header: "Group", sort: "group", cell: (membership) => membership.group_name },
  { id: "round", header: "Put there by round", align: "end", cell: (membership) => membership.since_round },
  {
    id: "since",
    header: "Since",
    sort: "since",
    cell: (membership) => (
      <Text size="sm">
        <When at={membership.since} />
      </Text>
    ),
  },
];
