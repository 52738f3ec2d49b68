import { Anchor, Grid, Stack, Text } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Facts } from "../components/Facts";
import { Failed } from "../components/Failed";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, percent } from "../components/units";
import { When } from "../components/When";
import { eventsQuery, metric, roundQuery } from "../federations/queries";
import { Replay } from "../federations/Replay";

export const Route = createFileRoute("/federations/$id/rounds/$round")({
  component: RoundPage,
  loader: ({ context, params }) => context.queryClient.ensureQueryData(roundQuery(Number(params.round))),
  errorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
});

function RoundPage() {
  const { id, round: key } = Route.useParams();
  const { data: round } = useSuspenseQuery(roundQuery(Number(key)));
  const events = useQuery(eventsQuery(Number(key)));
  if (round === undefined) return null;
  const figure = (name: string, format: (value: number) => string) => {
    const value = metric(round, name);
    return value === null ? "–" : format(value);
  };
  return (
    <>
      <PageHead
        title={`${round.federation_slug}, round ${round.number}`}
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
      </PageHead>
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Panel title="The round">
            <Facts
              of={[
                ["Opened", <When key="opened" at={round.opened_at} />],
                ["Deadline", <When key="deadline" at={round.deadline_at} />],
                ["Ended", <When key="ended" at={round.finished_at} />],
                ["Updates", `${round.updates} of ${round.devices}`],
                ["Samples", figure("samples", (count) => count.toLocaleString())],
                ["Uploaded", figure("update_bytes", bytes)],
                ["Accuracy before", figure("accuracy_before", percent)],
                ["Accuracy", figure("accuracy", percent)],
                ["Merged in", figure("merge_s", (seconds) => `${(1000 * seconds).toFixed(0)} ms`)],
              ]}
            />
          </Panel>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Panel title="How it went">
            {events.data === undefined ? (
              <Text size="sm" c="var(--quiet)">
                Looking…
              </Text>
            ) : (
              <Stack gap="xs">
                <Replay events={events.data.results} />
                {events.data.count > events.data.results.length && (
                  <Text size="sm" c="var(--quiet)">
                    The first {events.data.results.length} of {events.data.count} events.
                  </Text>
                )}
              </Stack>
            )}
          </Panel>
        </Grid.Col>
      </Grid>
    </>
  );
}
