import { Anchor, Grid, Stack, Text } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Answer } from "../components/Answer";
import { Facts } from "../components/Facts";
import { MOST_COMPARED } from "../components/mostCompared";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, duration, percent } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { ComparedUpdates } from "../federations/ComparedUpdates";
import { CompareRounds } from "../federations/CompareRounds";
import { eventsQuery, metric, roundQuery, routesQuery } from "../federations/queries";
import { Replay } from "../federations/Replay";
import { RoundActions } from "../federations/RoundActions";
import { Routes } from "../federations/Routes";
import { UpdatesByAge } from "../federations/UpdatesByAge";
import { t } from "../language/t";

interface RoundSearch {
  /** Rounds that it is compared with, as their baseline. */
  readonly against?: readonly number[];
}

const NONE: readonly number[] = [];

export const Route = createFileRoute("/federations/$id/rounds/$round")({
  component: RoundPage,
  validateSearch: (raw: Record<string, unknown>): RoundSearch => {
    const rounds = (Array.isArray(raw.against) ? raw.against : []).filter((one) => Number.isInteger(one));
    return rounds.length === 0 ? {} : { against: rounds.slice(0, MOST_COMPARED) };
  },
  loader: ({ context, params }) => context.queryClient.ensureQueryData(roundQuery(Number(params.round))),
  ...until(t`Round`),
});

function RoundPage() {
  const { id, round: key } = Route.useParams();
  const { against = NONE } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: round } = useSuspenseQuery(roundQuery(Number(key)));
  const events = useQuery(eventsQuery(Number(key)));
  const ways = useQuery(routesQuery(Number(key)));
  if (round === undefined) return null;
  const figure = (name: string, format: (value: number) => string) => {
    const value = metric(round, name);
    return value === null ? "–" : format(value);
  };
  return (
    <>
      <PageHead
        title={`${round.federation_name}, round ${round.number}`}
        says={
          <>
            <State of={round.state} />{" "}
            {round.reason_code !== "" && <Reason sentence={round.reason_sentence} code={round.reason_code} />}
          </>
        }
      >
        <Anchor component={Link} to={`/federations/${id}`} size="sm">
          All rounds
        </Anchor>
        <RoundActions round={round} />
      </PageHead>
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="lg">
            <Panel title="The round">
              <Facts
                of={[
                  [t`Opened`, <When key="opened" at={round.opened_at} />],
                  round.finished_at === null
                    ? [t`Deadline`, <When key="deadline" at={round.deadline_at} />]
                    : [t`Ended`, <When key="ended" at={round.finished_at} />],
                  [t`Updates`, round.asynchronous ? round.updates : t`${round.updates} of ${round.devices}`],
                  [t`Samples`, figure("samples", (count) => counted(count))],
                  [t`Uploaded`, figure("update_bytes", bytes)],
                  [t`Accuracy before`, figure("accuracy_before", percent)],
                  [t`Accuracy`, figure("accuracy", percent)],
                  [t`Merged in`, figure("merge_s", duration)],
                ]}
              />
            </Panel>
            {round.asynchronous && round.updates_by_age.length > 0 && <UpdatesByAge ages={round.updates_by_age} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Panel title="How it went">
            <Answer of={events} height={280}>
              {({ results, count }) => (
                <Stack gap="xs">
                  <Replay events={results} />
                  {count > results.length && (
                    <Text size="sm" c="var(--quiet)">
                      The first {results.length} of {count} events.
                    </Text>
                  )}
                </Stack>
              )}
            </Answer>
          </Panel>
        </Grid.Col>
        <Grid.Col span={12}>
          <ComparedUpdates of={round} />
        </Grid.Col>
        <Grid.Col span={12}>
          <CompareRounds
            baseline={round}
            against={against}
            onAgainst={(rounds) =>
              navigate({ search: rounds.length === 0 ? {} : { against: rounds }, replace: true, resetScroll: false })
            }
          />
        </Grid.Col>
        {ways.data !== undefined && (
          <Grid.Col span={12}>
            <Routes of={ways.data} />
          </Grid.Col>
        )}
      </Grid>
    </>
  );
}
