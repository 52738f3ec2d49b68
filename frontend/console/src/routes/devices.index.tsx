import { Anchor, Badge, Group, Select, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useState } from "react";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, duration } from "../components/units";
import { When } from "../components/When";
import { BulkActions } from "../devices/BulkActions";
import { DeviceFigures, Held, LastPart, OwnAccuracy, Updates } from "../devices/DeviceCells";
import { NoDevices } from "../devices/NoDevices";
import {
  type Device,
  type DevicesSearch,
  deviceFiguresQuery,
  devicesAsked,
  devicesFilter,
  devicesQuery,
  devicesSearch,
  STATUSES,
  WORDS,
} from "../devices/queries";
import { t } from "../language/t";
import { useWatched } from "../live/Live";
import { overviewQuery } from "../overview/queries";
import type { Part } from "../overview/standing";
import { ArchivedOnly } from "../table/ArchivedOnly";
import { byRow } from "../table/beside";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import { SavedFilters } from "../table/SavedFilters";

export const Route = createFileRoute("/devices/")({
  component: Devices,
  validateSearch: devicesSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(devicesQuery(deps));
    context.queryClient.prefetchQuery(deviceFiguresQuery(deps));
  },
});

function Devices() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(devicesQuery(search));
  const { data: figures } = useQuery(deviceFiguresQuery(search));
  const beside = useMemo(() => byRow(figures, ({ device }) => device), [figures]);
  const { data: overview } = useQuery({ ...overviewQuery, enabled: search.reason !== undefined });
  useWatched(rows.data?.results.map((device) => device.id) ?? []);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shownAsChosen = useDeferredValue(chosen); // the box is ticked first, and what can be done comes after
  const show = (change: DevicesSearch) => navigate({ search: change, replace: true });
  const { page: _page, ...filters } = search;
  const narrow = (name: "status" | "tag" | Named, value: string | null) => {
    const { [name]: _old, ...kept } = filters;
    show(value === null || value === "" ? kept : { ...kept, [name]: value });
  };
  return (
    <>
      <PageHead title="Devices" says={says(search, rows.data?.count)}>
        <Anchor component={Link} to="/agents" size="sm">
          Agent versions
        </Anchor>
        <ExportCsv path="/api/devices/" query={devicesAsked(search)} />
      </PageHead>
      {shownAsChosen.size > 0 && <BulkActions chosen={[...shownAsChosen]} onDone={() => setChosen(new Set())} />}
      <DeviceFigures value={beside}>
        <DataTable
          label="Devices"
          columns={COLUMNS}
          rows={rows}
          rowKey={(device) => device.id}
          rowName={(device) => device.name}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => show({ ...devicesFilter({ ...search }), ...change })}
          searchable="Name or id"
          chosen={chosen}
          onChosen={setChosen}
          tools={
            <>
              <Select
                aria-label="How they stand"
                placeholder="All devices"
                clearable
                data={STATUSES.map((value) => ({ value, label: WORDS[value] }))}
                value={search.status ?? null}
                onChange={(status) => narrow("status", status)}
                w={230}
              />
              <TextInput
                key={search.tag ?? ""}
                aria-label="Tag"
                placeholder="Tag"
                defaultValue={search.tag ?? ""}
                onBlur={(event) => narrow("tag", event.currentTarget.value.trim())}
                onKeyDown={(event) => event.key === "Enter" && narrow("tag", event.currentTarget.value.trim())}
                w={130}
              />
              {NAMED.map(
                (name) =>
                  search[name] !== undefined && (
                    <Badge
                      key={name}
                      component="button"
                      variant="light"
                      color="gray"
                      size="lg"
                      tt="none"
                      onClick={() => narrow(name, null)}
                      aria-label={`No longer only ${said(name, search, overview?.by_status)}`}
                    >
                      {said(name, search, overview?.by_status)} ×
                    </Badge>
                  ),
              )}
              <ArchivedOnly
                search={search}
                onSearch={(change) => show({ ...devicesFilter({ ...search }), ...change })}
              />
              <SavedFilters table="devices" search={search} onChoose={(wanted) => show(devicesSearch(wanted))} />
            </>
          }
          empty={<NoDevices filtered={Object.keys(filters).length > 0} />}
        />
      </DeviceFigures>
    </>
  );
}

/** Filters that have no field of their own. */
const NAMED = ["reason", "version", "agent", "refuses_updates", "ready"] as const;
type Named = (typeof NAMED)[number];

function said(name: Named, search: DevicesSearch, parts: readonly Part[] = []): string {
  if (name === "ready") return search.ready === true ? t`ready` : t`not ready`;
  if (name === "version") return t`one version`;
  if (name === "agent") return t`agent ${String(search.agent)}`;
  if (name === "refuses_updates") return t`takes no updates of the agent`;
  return parts.find(({ reason }) => reason === search.reason)?.words ?? search.reason ?? "";
}

/** How many there are, once that is known. */
function says(search: DevicesSearch, count: number | undefined): string | undefined {
  if (count === undefined) return undefined;
  if (count === 1) return t`1 device.`;
  const { page: _page, sort: _sort, hide: _hide, show: _show, ...narrowing } = search;
  return Object.keys(narrowing).length === 0
    ? t`${counted(count)} devices have joined, also those that left or were revoked.`
    : t`${counted(count)} devices fit.`;
}

const COLUMNS: readonly Column<Device>[] = [
  {
    id: "name",
    header: "Device",
    sort: "name",
    cell: (device) => (
      <Anchor component={Link} to={`/devices/${device.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {device.name}
      </Anchor>
    ),
  },
  { id: "status", header: "State", cell: (device) => <State of={device.status} /> },
  {
    id: "why",
    header: "Why it does not train",
    cell: (device) => (device.reasons.length === 0 ? "–" : <FirstReason device={device} />),
  },
  {
    id: "tags",
    header: "Tags",
    cell: (device) => (
      <Group gap={4} maw={260}>
        {device.tags.map((tag) => (
          <Badge key={tag} variant="light" color="gray" tt="none" fw={500} style={{ minWidth: "max-content" }}>
            {tag}
          </Badge>
        ))}
      </Group>
    ),
  },
  {
    id: "step",
    header: "Train step",
    sort: "train_step_s",
    align: "end",
    cell: (device) => (device.train_step_s == null ? "–" : duration(device.train_step_s)),
  },
  {
    id: "version",
    header: "Version",
    cell: (device) => <Held of={device} />,
  },
  { id: "part", header: "Last round", cell: (device) => <LastPart of={device} /> },
  { id: "accuracy", header: "Accuracy there", align: "end", cell: (device) => <OwnAccuracy of={device} /> },
  { id: "updates", header: "Updates", optional: true, align: "end", cell: (device) => <Updates of={device} /> },
  {
    id: "machine",
    header: "Machine",
    optional: true,
    cell: (device) => (
      <Text size="sm" style={{ whiteSpace: "nowrap" }}>
        {reported(device, "machine") ?? "–"}
      </Text>
    ),
  },
  { id: "cores", header: "Cores", optional: true, align: "end", cell: (device) => reported(device, "cores") ?? "–" },
  {
    id: "memory",
    header: "Memory",
    optional: true,
    align: "end",
    cell: (device) => {
      const size = Number(reported(device, "memory_bytes"));
      return Number.isFinite(size) ? bytes(size) : "–";
    },
  },
  { id: "agent", header: "Agent", optional: true, cell: (device) => reported(device, "agent") ?? "–" },
  {
    id: "joined",
    header: "Joined",
    sort: "enrolled_at",
    optional: true,
    cell: (device) => <When at={device.enrolled_at} />,
  },
  { id: "seen", header: "Seen", sort: "last_seen_at", cell: (device) => <When at={device.last_seen_at} /> },
];

function FirstReason({ device }: { device: Device }) {
  const [first, ...others] = device.reasons;
  if (first === undefined) return null;
  return (
    <>
      <Reason {...first} />
      {others.length > 0 && ` and ${others.length} more`}
    </>
  );
}

/** What the device said of itself when it joined. */
function reported(device: Device, name: string): string | undefined {
  const capabilities = (device.capabilities ?? {}) as Record<string, unknown>;
  return capabilities[name] === undefined ? undefined : String(capabilities[name]);
}
