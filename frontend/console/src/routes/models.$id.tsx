import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Facts } from "../components/Facts";
import { Loading } from "../components/Loading";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { transfersOfQuery } from "../help/queries";
import { Bootstrap } from "../models/Bootstrap";
import { Compare } from "../models/Compare";
import { inOrder, writtenOf } from "../models/figures";
import { transfersMeanwhile } from "../models/meanwhile";
import { graphQuery, nameOf, PAIRS, pairQuery, VERSIONS, type Version } from "../models/queries";
import { Rollouts } from "../models/Rollouts";
import { StartRollout } from "../models/StartRollout";
import { UseUploadedWeights } from "../models/UseUploadedWeights";
import { ExportCsv } from "../table/ExportCsv";

const Lineage = lazy(() => import("../models/Lineage"));

interface PairSearch {
  /** The version that is looked at. */
  readonly version?: string;
  /** The one that it is compared with. */
  readonly against?: string;
}

export const Route = createFileRoute("/models/$id")({
  component: PairPage,
  validateSearch: (raw: Record<string, unknown>): PairSearch => ({
    ...(typeof raw.version === "string" && { version: raw.version }),
    ...(typeof raw.against === "string" && { against: raw.against }),
  }),
  loader: ({ context, params }) => context.queryClient.ensureQueryData(pairQuery(params.id)),
  ...until("Model pair"),
});

function PairPage() {
  const { id } = Route.useParams();
  const { version, against } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: pair } = useSuspenseQuery(pairQuery(id));
  const lineage = useQuery(graphQuery(id));
  const graph = lineage.data;
  const { data: helped } = useQuery(transfersOfQuery(id));
  const transfers = useMemo(
    () => transfersMeanwhile(graph?.versions ?? [], helped ?? { results: [] }),
    [graph, helped],
  );
  const chosen = useMemo(() => [version, against].filter((one) => one !== undefined), [version, against]);
  if (pair === undefined) return null;
  const look = (next: string) => {
    if (version === undefined || next === version) return navigate({ search: { version: next }, replace: true });
    return navigate({ search: { version, against: next }, replace: true });
  };
  const looked = graph?.versions.find((one) => one.id === version);
  return (
    <>
      <PageHead
        title={pair.name}
        says={
          <>
            <State of={pair.state ?? "checking"} />, {classes(pair.labels.length)}{" "}
            {pair.reason_code ? <Reason sentence={pair.reason_sentence ?? ""} code={pair.reason_code} /> : null}
          </>
        }
      >
        <Action
          action="registry.roll_back"
          label="Roll the devices back"
          blocked={pair.device_champion === null ? "No version is in use yet." : undefined}
          confirm="Devices get the version that the one in use came of. The newer one stays, and can be used again."
          done="Devices get the earlier version at their next check-in."
          changes={[PAIRS, VERSIONS]}
          call={(via) =>
            api.POST("/api/pairs/{id}/champion/", {
              params: { path: { id } },
              body: { role: "device", lineage: "", version: null },
              ...via,
            })
          }
        />
      </PageHead>
      <Stack gap="lg">
        <Panel
          title="Lineage"
          tools={
            <>
              <Text size="xs" c="var(--quiet)">
                Choose one version to look at it, a second to compare.
              </Text>
              <ExportCsv path="/api/versions/" query={{ pair: id }} />
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
            against={against}
            onChoose={(search) => navigate({ search, replace: true })}
          />
        )}
        <Rollouts pair={id} />
        {looked !== undefined && <Looked pair={id} version={looked} />}
        {version !== undefined && against !== undefined && (
          <Panel
            title="Side by side"
            tools={
              <Button size="xs" variant="default" onClick={() => navigate({ search: { version }, replace: true })}>
                Close
              </Button>
            }
          >
            <Compare version={version} against={against} />
          </Panel>
        )}
      </Stack>
    </>
  );
}

function classes(count: number): string {
  return count === 1 ? "1 class" : `${count === 0 ? "no" : count} classes`;
}

interface ChosenProps {
  readonly versions: readonly Version[];
  readonly version: string | undefined;
  readonly against: string | undefined;
  readonly onChoose: (search: PairSearch) => void;
}

/** The lineage's choice as two fields, for those who use no mouse, and where there are many versions. */
function Chosen({ versions, version, against, onChoose }: ChosenProps) {
  const options = versions.toReversed().map((one) => ({ value: one.id, label: nameOf(one) }));
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
      <Select
        label="Compared with"
        placeholder="Choose another"
        searchable
        clearable
        disabled={version === undefined}
        data={options.filter(({ value }) => value !== version)}
        value={against ?? null}
        onChange={(next) => version !== undefined && onChoose({ version, ...(next !== null && { against: next }) })}
      />
    </Group>
  );
}

function Looked({ pair, version }: { pair: string; version: Version }) {
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
          <Button component="a" href={`/api/versions/${version.id}/archive/`} download size="sm" variant="default">
            Download
          </Button>
          {version.role === "device" && <StartRollout pair={pair} version={version} />}
          <Action
            action="registry.roll_back"
            label="Use this version"
            primary
            blocked={version.champion ? "It is in use." : undefined}
            confirm={`Whoever follows this lineage gets ${nameOf(version)}; an open round on another base is abandoned.`}
            done={`${nameOf(version)} is in use.`}
            changes={[PAIRS, VERSIONS]}
            call={(via) =>
              api.POST("/api/pairs/{id}/champion/", {
                params: { path: { id: pair } },
                body: { role: version.role, lineage: version.lineage, version: version.id },
                ...via,
              })
            }
          />
        </>
      }
    >
      <Facts
        of={[
          ["Came of", version.origin.replaceAll("_", " ")],
          ["Size", bytes(version.size_bytes)],
          ...(version.server_state_bytes === null
            ? []
            : [["Server state", bytes(version.server_state_bytes)] as const]),
          ["Made", <When key="made" at={version.created_at} />],
          ...figures,
        ]}
      />
    </Panel>
  );
}
