import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo } from "react";
import { api } from "../api/client";
import { Answer } from "../components/Answer";
import { Archive } from "../components/Archive";
import { ComparedWith } from "../components/ComparedWith";
import { Describe } from "../components/Describe";
import { Facts } from "../components/Facts";
import { Loading } from "../components/Loading";
import { MOST_COMPARED } from "../components/mostCompared";
import { Noted } from "../components/Noted";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { bytes, counted } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { transfersOfQuery } from "../help/queries";
import { t } from "../language/t";
import { AccuracyByVersion } from "../models/AccuracyByVersion";
import { Bootstrap } from "../models/Bootstrap";
import { ByClass } from "../models/ByClass";
import { Compare } from "../models/Compare";
import { Ensembles } from "../models/Ensembles";
import { Evaluations } from "../models/Evaluations";
import { inOrder, writtenOf } from "../models/figures";
import { RollBack, UseVersion } from "../models/MoveDevices";
import { transfersMeanwhile } from "../models/meanwhile";
import { cameOf } from "../models/origin";
import { PreflightReport, Rejected, Work } from "../models/Preflight";
import { graphQuery, nameOf, PAIRS, pairQuery, VERSIONS, type Version, versionQuery } from "../models/queries";
import { Rollouts } from "../models/Rollouts";
import { SpeedHistory } from "../models/SpeedHistory";
import { Speeds } from "../models/Speeds";
import { StartRollout } from "../models/StartRollout";
import { type SpeedSearch, speedSearch } from "../models/speedHistory";
import { UseUploadedWeights } from "../models/UseUploadedWeights";
import { Variants } from "../models/Variants";
import { Versions } from "../models/Versions";
import { type TableSearch, tableSearch } from "../table/search";

const Lineage = lazy(() => import("../models/Lineage"));

/** Versions that the lineage shows at first. */
const NEAR = 40;

interface PairSearch extends TableSearch {
  /** The version that is looked at. */
  readonly version?: string;
  /** Those that it is compared with, as their baseline. */
  readonly against?: readonly string[];
  /** How many versions the lineage goes back. */
  readonly newest?: number;
  /** Which speeds of past days are drawn. */
  readonly speed?: SpeedSearch;
}

export const Route = createFileRoute("/models/$id")({
  component: PairPage,
  validateSearch: (raw: Record<string, unknown>): PairSearch => ({
    ...tableSearch(raw),
    ...(typeof raw.version === "string" && { version: raw.version }),
    ...againstOf(raw.against),
    ...(typeof raw.newest === "number" && raw.newest > NEAR && { newest: raw.newest }),
    ...speedSearch(raw.speed),
  }),
  loader: ({ context, params }) => context.queryClient.ensureQueryData(pairQuery(params.id)),
  ...until(t`Model pair`),
});

function againstOf(raw: unknown): Pick<PairSearch, "against"> {
  const versions = (Array.isArray(raw) ? raw : [raw]).filter((one) => typeof one === "string").slice(0, MOST_COMPARED);
  return versions.length === 0 ? {} : { against: versions };
}

function PairPage() {
  const { id } = Route.useParams();
  const { version, against, newest = NEAR, speed, ...table } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: pair } = useSuspenseQuery(pairQuery(id));
  const lineage = useQuery(graphQuery(id, newest));
  const graph = lineage.data;
  const { data: helped } = useQuery(transfersOfQuery(id));
  const transfers = useMemo(
    () => transfersMeanwhile(graph?.versions ?? [], helped ?? { results: [] }),
    [graph, helped],
  );
  const chosen = useMemo(() => [version, ...(against ?? [])].filter((one) => one !== undefined), [version, against]);
  const near = graph?.versions.find((one) => one.id === version);
  const { data: far } = useQuery({
    ...versionQuery(version ?? ""),
    enabled: version !== undefined && graph !== undefined && near === undefined,
  });
  const look = useCallback(
    (next: string) =>
      navigate({
        search: (now) => {
          const { version: baseline, against: others = [], ...kept } = now;
          if (baseline === undefined || next === baseline) return { ...kept, version: next };
          const added = others.includes(next)
            ? others.filter((one) => one !== next)
            : [...others, next].slice(-MOST_COMPARED);
          return { ...kept, version: baseline, ...(added.length > 0 && { against: added }) };
        },
        replace: true,
      }),
    [navigate],
  );
  if (pair === undefined) return null;
  const looked = near ?? far;
  return (
    <>
      <PageHead
        title={pair.name}
        says={
          <>
            <State of={pair.state ?? "checking"} />, {classes(pair.labels.length)}{" "}
          </>
        }
      >
        <RollBack pair={pair} graph={graph} />
        <Describe
          action="registry.describe_pair"
          name={pair.name}
          notes={pair.notes ?? ""}
          changes={[PAIRS]}
          call={(body, via) => api.PATCH("/api/pairs/{id}/", { params: { path: { id } }, body, ...via })}
        />
        <Archive
          app="registry"
          kind="pair"
          archivedAt={pair.archived_at}
          changes={[PAIRS]}
          archive={(via) => api.POST("/api/pairs/{id}/archive/", { params: { path: { id } }, ...via })}
          restore={(via) => api.POST("/api/pairs/{id}/restore/", { params: { path: { id } }, ...via })}
        />
      </PageHead>
      <Stack gap="lg">
        <Noted notes={pair.notes} archivedAt={pair.archived_at} />
        {pair.state === "rejected" && <Rejected pair={pair} />}
        <Work pair={pair} />
        {graph !== undefined && <AccuracyByVersion pair={id} versions={graph.versions} />}
        <Panel
          title="Lineage"
          tools={
            <>
              <Text size="xs" c="var(--quiet)">
                Choose one version to look at it, others to compare them with it.
              </Text>
              {graph !== undefined && graph.count > graph.versions.length && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() =>
                    navigate({ search: (now) => ({ ...now, newest: 2 * newest }), replace: true, resetScroll: false })
                  }
                >
                  {`Show older ones: ${counted(graph.versions.length)} of ${counted(graph.count)}`}
                </Button>
              )}
            </>
          }
        >
          <Answer of={lineage} height={320}>
            {(graph) =>
              graph.versions.length === 0 ? (
                <Stack gap="sm" align="flex-start">
                  <Text size="sm" c="var(--quiet)">
                    No version yet: the cloud trains both models with a data set first, or they begin with the weights
                    with which they were uploaded.
                  </Text>
                  <Group gap="sm">
                    <Bootstrap pair={pair} />
                    <UseUploadedWeights pair={pair} />
                  </Group>
                </Stack>
              ) : (
                <Suspense fallback={<Loading height={320} />}>
                  <Lineage graph={graph} transfers={transfers} chosen={chosen} onChoose={look} />
                </Suspense>
              )
            }
          </Answer>
        </Panel>
        {graph !== undefined && graph.versions.length > 0 && (
          <Chosen
            versions={graph.versions}
            version={version}
            against={against ?? []}
            onChoose={(search) =>
              navigate({
                search: {
                  ...table,
                  ...search,
                  ...(newest > NEAR && { newest }),
                  ...(speed !== undefined && { speed }),
                },
                replace: true,
                resetScroll: false,
              })
            }
          />
        )}
        <Rollouts pair={id} />
        {looked !== undefined && <Looked pair={id} version={looked} versions={graph?.versions ?? []} />}
        {looked !== undefined && <ByClass version={looked} labels={pair.labels} />}
        {looked?.role === "device" && <Ensembles version={looked} />}
        {looked?.role === "device" && <Evaluations version={looked} />}
        {looked?.role === "device" && <Variants version={looked} />}
        <Speeds pair={id} />
        <SpeedHistory
          pair={id}
          chosen={speed ?? {}}
          onChoose={(next) =>
            navigate({
              search: ({ speed: _former, ...kept }) => ({
                ...kept,
                ...(Object.keys(next).length > 0 && { speed: next }),
              }),
              replace: true,
              resetScroll: false,
            })
          }
        />
        {version !== undefined && against !== undefined && (
          <Panel
            title="Side by side"
            tools={
              <Button
                size="xs"
                variant="default"
                onClick={() => navigate({ search: ({ against: _closed, ...kept }) => kept, replace: true })}
              >
                Close
              </Button>
            }
          >
            <Compare baseline={version} others={against} labels={pair.labels} />
          </Panel>
        )}
        {graph !== undefined && graph.versions.length > 0 && (
          <Versions
            pair={id}
            search={table}
            onSearch={(change) =>
              navigate({
                search: ({ version, against, newest, speed }) => ({
                  ...change,
                  ...(speed !== undefined && { speed }),
                  ...(version !== undefined && { version }),
                  ...(against !== undefined && { against }),
                  ...(newest !== undefined && { newest }),
                }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        )}
        <PreflightReport pair={pair} />
      </Stack>
    </>
  );
}

function classes(count: number): string {
  if (count === 0) return t`no classes`;
  return count === 1 ? t`1 class` : t`${count} classes`;
}

interface ChosenProps {
  readonly versions: readonly Version[];
  readonly version: string | undefined;
  readonly against: readonly string[];
  readonly onChoose: (search: PairSearch) => void;
}

/** The lineage's choice as two fields, for those who use no mouse, and where there are many versions. */
function Chosen({ versions, version, against, onChoose }: ChosenProps) {
  const options = versions
    .toReversed()
    .filter((one) => one.archived_at === null)
    .map((one) => ({ value: one.id, label: nameOf(one) }));
  return (
    <Group gap="sm">
      <Select
        label="Version"
        placeholder="Choose one"
        searchable
        clearable
        data={options}
        value={version ?? null}
        onChange={(next) => onChoose(next === null ? {} : { version: next })}
      />
      <ComparedWith
        miw={280}
        disabled={version === undefined}
        data={options.filter(({ value }) => value !== version)}
        value={against}
        onChange={(next) => version !== undefined && onChoose({ version, ...(next.length > 0 && { against: next }) })}
      />
    </Group>
  );
}

interface LookedProps {
  readonly pair: string;
  readonly version: Version;
  /** Those of the lineage. */
  readonly versions: readonly Version[];
}

function Looked({ pair, version, versions }: LookedProps) {
  const measured = (version.metrics ?? {}) as Readonly<Record<string, unknown>>;
  const figures = inOrder(Object.keys(measured)).flatMap((name) => {
    const value = measured[name]; // what is no number is as long as there are classes; comparisons show it
    const { words, format } = writtenOf(name);
    return typeof value === "number" ? [[words, format(value)] as const] : [];
  });
  return (
    <Panel
      title={nameOf(version)}
      tools={
        <>
          <Describe
            action="registry.describe_version"
            unnamed
            name={version.name}
            notes={version.notes}
            changes={[PAIRS, VERSIONS]}
            call={(body, via) =>
              api.PATCH("/api/versions/{id}/", { params: { path: { id: version.id } }, body, ...via })
            }
          />
          <Archive
            app="registry"
            kind="version"
            archivedAt={version.archived_at}
            blocked={version.champion ? t`It is in use.` : undefined}
            changes={[PAIRS, VERSIONS]}
            archive={(via) => api.POST("/api/versions/{id}/archive/", { params: { path: { id: version.id } }, ...via })}
            restore={(via) => api.POST("/api/versions/{id}/restore/", { params: { path: { id: version.id } }, ...via })}
          />
          <Button component="a" href={`/api/versions/${version.id}/archive/`} download size="sm" variant="default">
            Download
          </Button>
          {version.role === "device" && <StartRollout pair={pair} version={version} versions={versions} />}
          <UseVersion pair={pair} version={version} versions={versions} />
        </>
      }
    >
      {version.notes !== "" && (
        <Text size="sm" mb="sm" style={{ whiteSpace: "pre-wrap" }}>
          {version.notes}
        </Text>
      )}
      <Facts
        of={[
          ...(version.archived_at === null
            ? []
            : [[t`Archived`, <When key="away" at={version.archived_at} />] as const]),
          [t`Came of`, cameOf(version.origin)],
          [t`Size`, bytes(version.size_bytes)],
          ...(version.server_state_bytes === null
            ? []
            : [[t`Server state`, bytes(version.server_state_bytes)] as const]),
          [t`Made`, <When key="made" at={version.created_at} />],
          ...figures,
        ]}
      />
    </Panel>
  );
}
