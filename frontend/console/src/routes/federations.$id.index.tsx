import { Badge, Grid, Stack, Tabs, Text } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useMemo } from "react";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { TimeRange } from "../chart/TimeRange";
import { Answer } from "../components/Answer";
import { Facts } from "../components/Facts";
import { MOST_COMPARED } from "../components/mostCompared";
import { Noted } from "../components/Noted";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, percent } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { ActiveRound } from "../federations/ActiveRound";
import { Annotations, marksOf } from "../federations/Annotations";
import { CompareFederations } from "../federations/CompareFederations";
import { FederationActions } from "../federations/FederationActions";
import { Groups, type GroupsSearch } from "../federations/Groups";
import { useFederationHue } from "../federations/hues";
import { Labels } from "../federations/Labels";
import { Participation } from "../federations/Participation";
import { PersonalModels } from "../federations/PersonalModels";
import { PlanEditor } from "../federations/PlanEditor";
import { PlanForecasts } from "../federations/PlanForecasts";
import {
  annotationsQuery,
  federationQuery,
  metric,
  type Round,
  type RoundsSearch,
  roundsQuery,
} from "../federations/queries";
import { Rebuilds } from "../federations/Rebuilds";
import { RoundForecasts } from "../federations/RoundForecasts";
import { RoundsTable } from "../federations/RoundsTable";
import { Terms } from "../federations/Terms";
import { t } from "../language/t";
import { FederationPrivacy } from "../privacy/FederationPrivacy";
import { choice, tableSearch, texts } from "../table/search";

const TABS = ["rounds", "personal", "groups", "privacy", "forecasts", "compared", "plan"] as const;
type Tab = (typeof TABS)[number];

interface FederationSearch extends RoundsSearch, GroupsSearch {
  readonly tab?: Tab;
  /** Federations that it is compared with, as their baseline. */
  readonly against?: readonly string[];
}

const NONE: readonly string[] = [];

export const Route = createFileRoute("/federations/$id/")({
  component: FederationPage,
  validateSearch: (raw: Record<string, unknown>): FederationSearch => {
    const tab = choice(raw.tab, TABS);
    return {
      ...tableSearch(raw),
      ...(tab !== undefined && { tab }),
      ...texts<Pick<RoundsSearch, "state">>(raw, ["state"]),
      ...(typeof raw.group === "number" && { group: raw.group }),
      ...(Array.isArray(raw.against) && {
        against: raw.against.filter((one) => typeof one === "string").slice(0, MOST_COMPARED),
      }),
    };
  },
  loader: ({ context, params }) => context.queryClient.ensureQueryData(federationQuery(params.id)),
  ...until(t`Federation`),
});

function FederationPage() {
  const { id } = Route.useParams();
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: federation } = useSuspenseQuery(federationQuery(id));
  const rounds = useQuery(roundsQuery(id));
  if (federation === undefined) return null;
  const active = rounds.data?.results.find((round) => ["planned", "open", "closing", "merging"].includes(round.state));
  const tab = search.tab ?? "rounds";
  return (
    <>
      <PageHead
        title={federation.name}
        says={
          <>
            <State of={federation.state} />,{" "}
            {federation.members === 1 ? "1 device" : `${counted(federation.members)} devices`}{" "}
            {federation.device_tag !== "" && (
              <Badge variant="light" color="gray" tt="none" fw={500}>
                {federation.device_tag}
              </Badge>
            )}{" "}
            {federation.reason_code !== "" && (
              <Reason sentence={federation.reason_sentence} code={federation.reason_code} />
            )}
          </>
        }
      >
        <FederationActions federation={federation} />
      </PageHead>
      <Stack gap="lg">
        <Noted notes={federation.notes} archivedAt={federation.archived_at} />
        {active !== undefined && <ActiveRound round={active} />}
        <Answer of={rounds} height={260}>
          {({ results, count }) => <Progress federation={id} rounds={results} count={count} />}
        </Answer>
        <Tabs
          value={tab}
          onChange={(value) => navigate({ search: { tab: value as Tab }, replace: true })}
          keepMounted={false}
        >
          <Tabs.List mb="md">
            <Tabs.Tab value="rounds">Rounds</Tabs.Tab>
            <Tabs.Tab value="personal">Personal models</Tabs.Tab>
            <Tabs.Tab value="groups">Groups</Tabs.Tab>
            <Tabs.Tab value="privacy">Privacy</Tabs.Tab>
            <Tabs.Tab value="forecasts">Forecasts</Tabs.Tab>
            <Tabs.Tab value="compared">Compared</Tabs.Tab>
            <Tabs.Tab value="plan">Plan</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="rounds">
            <Stack gap="lg">
              <RoundsTable
                federation={id}
                search={search}
                onSearch={(change) => navigate({ search: { ...change, tab }, replace: true })}
              />
              <Participation federation={id} />
              <Labels federation={id} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="personal">
            <PersonalModels federation={federation} />
          </Tabs.Panel>
          <Tabs.Panel value="groups">
            <Groups
              federation={federation}
              search={search}
              onSearch={(change) => navigate({ search: { ...change, tab }, replace: true })}
            />
          </Tabs.Panel>
          <Tabs.Panel value="privacy">
            <Stack gap="lg">
              <FederationPrivacy id={id} />
              <Rebuilds federation={id} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="forecasts">
            <Stack gap="lg">
              <PlanForecasts federation={federation} offers />
              <RoundForecasts federation={id} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="compared">
            <CompareFederations
              baseline={federation}
              against={search.against ?? NONE}
              onAgainst={(against) =>
                navigate({
                  search: { tab, ...(against.length > 0 && { against }) },
                  replace: true,
                  resetScroll: false,
                })
              }
            />
          </Tabs.Panel>
          <Tabs.Panel value="plan">
            <Grid gap="lg">
              <Grid.Col span={{ base: 12, md: 8 }}>
                <Stack gap="lg">
                  <PlanEditor federation={federation} />
                  <PlanForecasts federation={federation} />
                </Stack>
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 4 }}>
                <Panel title="Its terms">
                  <Terms key={federation.id} federation={federation} />
                  <Facts
                    of={[
                      [t`Rounds in a row without a version`, String(federation.kept_back)],
                      [
                        t`Rounds wanted`,
                        federation.rounds_wanted == null ? t`no end` : counted(federation.rounds_wanted),
                      ],
                      [t`Versions`, federation.lineage === "" ? t`the pair's` : t`its own, ${federation.lineage}`],
                      [t`Seed`, String(federation.seed)],
                      [t`Made`, <When key="made" at={federation.created_at} />],
                    ]}
                  />
                </Panel>
              </Grid.Col>
            </Grid>
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </>
  );
}

/** Between the hues of two lines of one federation. */
const APART = 3;

interface ProgressProps {
  readonly federation: string;
  /** The newest of `count`. */
  readonly rounds: readonly Round[];
  readonly count: number;
}

/** Accuracy and traffic of rounds, and what happened beside them. */
function Progress({ federation, rounds, count }: ProgressProps) {
  const { data: annotations } = useQuery(annotationsQuery(federation));
  const marks = useMemo(() => marksOf(annotations ?? []), [annotations]);
  const ended = useMemo(
    () => rounds.filter((round) => round.finished_at !== null && metric(round, "updates") !== null).reverse(),
    [rounds],
  );
  const times = useMemo(() => ended.map((round) => Date.parse(round.finished_at ?? "") / 1000), [ended]);
  const hue = useFederationHue()(federation);
  const accuracy = useMemo(
    () => [
      { label: "on held-out data", hue, values: ended.map((round) => metric(round, "accuracy")) },
      {
        label: "on the devices, before",
        hue: hue === undefined ? undefined : hue + APART,
        values: ended.map((round) => metric(round, "mean_accuracy")),
      },
    ],
    [ended, hue],
  );
  const traffic = useMemo(
    () => [{ label: "uploaded", hue, values: ended.map((round) => metric(round, "update_bytes")) }],
    [ended, hue],
  );
  if (ended.length < 2) {
    return (
      <>
        <Text size="sm" c="var(--quiet)">
          Accuracy and traffic are drawn from the second published round on.
        </Text>
        <Annotations of={annotations ?? []} />
      </>
    );
  }
  const shown = count > rounds.length && (
    <Text size="xs" c="var(--quiet)">
      newest {counted(rounds.length)} of {counted(count)} rounds
    </Text>
  );
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Panel
          title="Accuracy"
          tools={
            <>
              {shown}
              <TimeRange />
            </>
          }
        >
          <TimeChart
            title="Accuracy of each round's version"
            times={times}
            series={accuracy}
            marks={marks}
            format={percent}
            bounds={SHARE}
          />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Panel title="Traffic" tools={shown} fills>
          <TimeChart
            title="Bytes uploaded in each round"
            times={times}
            series={traffic}
            marks={marks}
            format={bytes}
            bounds={FROM_NOTHING}
          />
        </Panel>
      </Grid.Col>
      <Grid.Col span={12}>
        <Annotations of={annotations ?? []} />
      </Grid.Col>
    </Grid>
  );
}
