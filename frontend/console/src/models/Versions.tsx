import { Anchor, Badge, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { components } from "../api/schema";
import { Change } from "../components/Change";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { bytes, counted, percent } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { ArchivedOnly } from "../table/ArchivedOnly";
import { besideRows, byRow } from "../table/beside";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { cameOf } from "./origin";
import { nameOf, type Version, versionFiguresQuery, versionsQuery } from "./queries";

type Figures = components["schemas"]["VersionFigures"];

const { Beside, useBeside } = besideRows<Figures>();

interface Props {
  readonly pair: string;
  readonly search: TableSearch;
  readonly onSearch: (change: TableSearch) => void;
}

/** Every version of a pair: what it came of, how exact it is, who holds it. */
export function Versions({ pair, search, onSearch }: Props) {
  const { data: figures } = useQuery(versionFiguresQuery(pair, search));
  const beside = useMemo(() => byRow(figures, ({ version }) => version), [figures]);
  return (
    <Panel title="Versions" tools={<ExportCsv path="/api/versions/" query={{ pair }} />}>
      <Beside value={beside}>
        <DataTable
          label="Versions"
          columns={COLUMNS}
          rows={useQuery(versionsQuery(pair, search))}
          rowKey={(version) => version.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={onSearch}
          searchable="Name, notes or lineage"
          tools={<ArchivedOnly search={search} onSearch={onSearch} />}
          empty={<Empty title="No such version">Take the search away to see all versions.</Empty>}
        />
      </Beside>
    </Panel>
  );
}

const COLUMNS: readonly Column<Version>[] = [
  {
    id: "version",
    header: "Version",
    sort: "number",
    cell: (version) => (
      <Group gap="xs" wrap="nowrap">
        <Anchor
          component={Link}
          to={`/models/${version.pair}`}
          search={(now) => ({ ...now, version: version.id }) as never}
          resetScroll={false}
          size="sm"
        >
          {nameOf(version)}
        </Anchor>
        {version.champion && (
          <Badge size="xs" variant="light" color="teal" tt="none" style={{ minWidth: "max-content" }}>
            in use
          </Badge>
        )}
      </Group>
    ),
  },
  { id: "accuracy", header: "Accuracy", align: "end", cell: (version) => <Accuracy of={version} /> },
  { id: "devices", header: "Devices", align: "end", cell: (version) => <Holders of={version} /> },
  { id: "origin", header: "Came of", cell: (version) => cameOf(version.origin) },
  { id: "size", header: "Size", sort: "size_bytes", align: "end", cell: (version) => bytes(version.size_bytes) },
  { id: "made", header: "Made", sort: "created_at", cell: (version) => <When at={version.created_at} /> },
];

function Accuracy({ of }: { of: Version }) {
  const { accuracy, accuracy_change: change } = useBeside(of.id) ?? {};
  if (accuracy == null) return <>–</>;
  return (
    <Text component="span" size="sm" style={{ whiteSpace: "nowrap" }}>
      {percent(accuracy)}
      <Change value={change} format={percent} against={t`against the version that it was made from`} />
    </Text>
  );
}

function Holders({ of }: { of: Version }) {
  const devices = useBeside(of.id)?.devices;
  if (devices === undefined || devices === 0) return <>{devices ?? "–"}</>;
  return (
    <Anchor component={Link} to="/devices" search={{ version: of.id } as never} size="sm">
      {counted(devices)}
    </Anchor>
  );
}
