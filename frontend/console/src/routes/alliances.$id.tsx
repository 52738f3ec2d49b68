import { Anchor, Grid, SimpleGrid, Stack, Text } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { CancelAlliance } from "../alliances/CancelAlliance";
import { Epochs } from "../alliances/Epochs";
import { PartyPanel } from "../alliances/PartyPanel";
import { type Alliance, allianceQuery } from "../alliances/queries";
import { protectionOf } from "../alliances/standing";
import { Way } from "../alliances/Way";
import { Facts } from "../components/Facts";
import { Figure } from "../components/Figure";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes, counted, decimal, percent } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { t } from "../language/t";

export const Route = createFileRoute("/alliances/$id")({
  component: AlliancePage,
  loader: ({ context, params }) => context.queryClient.ensureQueryData(allianceQuery(params.id)),
  ...until(t`Alliance`),
});

function AlliancePage() {
  const { id } = Route.useParams();
  const { data: alliance } = useSuspenseQuery(allianceQuery(id));
  if (alliance === undefined) return null;
  return (
    <>
      <PageHead
        title={alliance.name}
        says={
          <>
            <State of={alliance.state} /> <Reason sentence={alliance.reason_sentence} code={alliance.reason_code} />
          </>
        }
      >
        <Anchor component={Link} to="/alliances" size="sm">
          All alliances
        </Anchor>
        <CancelAlliance alliance={alliance} />
      </PageHead>
      <Stack gap="lg">
        <Numbers alliance={alliance} />
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Way alliance={alliance} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Terms alliance={alliance} />
          </Grid.Col>
        </Grid>
        <Epochs alliance={alliance} />
        <Grid gap="lg">
          {alliance.parties.map((party) => (
            <Grid.Col key={party.role} span={{ base: 12, md: 6 }}>
              <PartyPanel alliance={alliance} party={party} />
            </Grid.Col>
          ))}
        </Grid>
      </Stack>
    </>
  );
}

function Numbers({ alliance }: { alliance: Alliance }) {
  const { common, epoch, terms, accuracy, alone, parties } = alliance;
  const letters = parties.reduce((sum, { sent }) => sum + sent, 0);
  const size = parties.reduce((sum, { sent_bytes }) => sum + sent_bytes, 0);
  const tables = parties.map(({ people }) => (people === null ? "–" : counted(people)));
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
      <Figure
        value={common === 0 ? "–" : counted(common)}
        label="people are known to both"
        detail={`of ${tables.join(" and ")} in the parties’ tables`}
      />
      <Figure
        value={accuracy === null ? "–" : percent(accuracy)}
        label="accuracy together"
        detail={alone === null ? "on people held out" : `${percent(alone)} by the party with the labels alone`}
      />
      <Figure value={counted(epoch)} label="epochs have ended" detail={`of ${counted(terms.epochs)}`} />
      <Figure value={counted(letters)} label="sealed letters" detail={bytes(size)} />
    </SimpleGrid>
  );
}

function Terms({ alliance: { terms, created_at, begun_at, ended_at } }: { alliance: Alliance }) {
  return (
    <Panel title="What was agreed" fills>
      <Stack gap="sm">
        <Facts
          of={[
            [
              t`Learning rate`,
              t`${decimal(terms.learning_rate)}, falling to nothing; momentum ${decimal(terms.momentum)}`,
            ],
            [t`Held out`, t`${percent(terms.held_share)} of the common people with a label`],
            [t`Least common people`, counted(terms.least_rows)],
            [t`Begun`, <When key="made" at={created_at} />],
            [t`Both had agreed`, <When key="begun" at={begun_at} />],
            [t`Ended`, <When key="ended" at={ended_at} />],
          ]}
        />
        <Text size="sm" fw={550}>
          Against guessing labels
        </Text>
        <Text size="sm">{protectionOf(terms.noise)}</Text>
        <Text size="sm" fw={550}>
          What the platform sees
        </Text>
        <Text size="sm">
          Sizes and times of letters, how many people and columns each table has, how many people are known to both,
          loss and accuracy. No identifier, column, label, gradient or number that passes between the halves: letters
          are sealed for keys that the owners have told each other.
        </Text>
      </Stack>
    </Panel>
  );
}
