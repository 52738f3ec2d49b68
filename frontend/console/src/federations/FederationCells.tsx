import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { components } from "../api/schema";
import { ShareBar } from "../chart/ShareBar";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { AccuracyOf, ChampionOf } from "../models/ChampionCells";
import { besideRows } from "../table/beside";
import { useFederationHue } from "./hues";
import type { Federation } from "./queries";

type Figures = components["schemas"]["FederationFigures"];
type Round = components["schemas"]["BriefRound"];

export const { Beside: FederationFigures, useBeside: useFigures } = besideRows<Figures>();

/** How exact the version in use is, and how the latest came to be. */
export function ChampionAccuracy({ of }: { of: Federation }) {
  return <AccuracyOf figures={useFigures(of.id)} hue={useFederationHue()(of.id)} />;
}

export function Champion({ of }: { of: Federation }) {
  return <ChampionOf pair={of.pair} figures={useFigures(of.id)} />;
}

export function LastRound({ of }: { of: Federation }) {
  const round = useFigures(of.id)?.last_round;
  return <Brief federation={of.id} round={round} at={round?.finished_at} />;
}

export function NextRound({ of }: { of: Federation }) {
  const round = useFigures(of.id)?.next_round;
  return <Brief federation={of.id} round={round} at={round?.opened_at ?? round?.opens_at} />;
}

function Brief({
  federation,
  round,
  at,
}: {
  federation: string;
  round: Round | null | undefined;
  at: string | null | undefined;
}) {
  if (round == null) return <>–</>;
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <Anchor
          component={Link}
          to={`/federations/${federation}/rounds/${round.id}`}
          size="sm"
          aria-label={`Round ${round.number}`}
        >
          {round.number}
        </Anchor>
        <State of={round.state} />
      </Group>
      <Text component="div" size="xs" c="var(--quiet)">
        <When at={at} />
      </Text>
    </>
  );
}

/** How many there are, and which part of them holds the version in use. */
export function Members({ of }: { of: Federation }) {
  const figures = useFigures(of.id);
  return (
    <>
      {counted(of.members)}
      {figures !== undefined && (
        <ShareBar
          parts={[
            { words: "hold the version in use", count: figures.on_champion },
            { words: "hold another", count: figures.on_others },
            { words: "hold none", count: figures.on_none },
          ]}
        />
      )}
    </>
  );
}
