import { Anchor, Group, Progress, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State, toneOf, wordOf } from "../components/State";
import { When } from "../components/When";
import classes from "./ActiveRound.module.css";
import { type Round, type RoundDetail, roundQuery } from "./queries";

type Part = RoundDetail["assignments"][number];

const ORDER = [
  "delivered",
  "joined",
  "uploading",
  "training",
  "waiting",
  "accepted",
  "invited",
  "released",
  "dropped",
  "rejected",
];

/** The round that is under way: what it waits for, and how far its devices are. */
export function ActiveRound({ round }: { round: Round }) {
  const { data } = useQuery(roundQuery(round.id));
  const parts = data?.assignments ?? [];
  const counts = ORDER.map((what) => ({ what, count: parts.filter((part) => doing(part) === what).length })).filter(
    ({ count }) => count > 0,
  );
  return (
    <Panel
      title={`Round ${round.number}`}
      tools={
        <Anchor component={Link} to={`/federations/${round.federation}/rounds/${round.id}`} size="sm">
          Watch it
        </Anchor>
      }
    >
      <Group gap="md" mb={counts.length > 0 ? "sm" : 0}>
        <State of={round.state} />
        {round.reason_code !== "" && <Reason sentence={round.reason_sentence} code={round.reason_code} />}
        {round.deadline_at !== null && (
          <Text size="sm" c="var(--quiet)">
            closes <When at={round.deadline_at} />
          </Text>
        )}
      </Group>
      {counts.length > 0 && (
        <>
          <Progress.Root size="lg" aria-label="How far the devices are">
            {counts.map(({ what, count }) => (
              <Progress.Section
                key={what}
                className={classes.part}
                value={(100 * count) / parts.length}
                color={`var(--${toneOf(what)})`}
                aria-label={`${count} ${wordOf(what)}`}
              />
            ))}
          </Progress.Root>
          <Group gap="md" mt={6}>
            {counts.map(({ what, count }) => (
              <Text size="sm" key={what} component="span">
                <State of={what} /> {count}
              </Text>
            ))}
          </Group>
        </>
      )}
    </Panel>
  );
}

/** What a device at work says that it does, as the round's reason counts it; of others, how they stand. */
function doing({ state, stage }: Part): string {
  return state === "accepted" || state === "offered" ? stage || "invited" : state;
}
