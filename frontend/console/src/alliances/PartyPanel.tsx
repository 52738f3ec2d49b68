import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Command } from "../components/Command";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { bytes, counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { nameOf, versionQuery } from "../models/queries";
import type { Alliance, Party } from "./queries";
import { commandFor, isActive, sharesOf, wordsOf } from "./standing";

/** One party: whether its owner has agreed, what it has sent, what it gives and what it never sees. */
export function PartyPanel({ alliance, party }: { alliance: Alliance; party: Party }) {
  const { data: version } = useQuery(versionQuery(party.version));
  const { gives, learns, never } = sharesOf(party.role);
  return (
    <Panel title={wordsOf(party.role)} fills>
      <Stack gap="sm">
        <Facts
          of={[
            [
              t`Device`,
              <Anchor key="device" component={Link} to={`/devices/${party.device}`} size="sm">
                {party.device_name}
              </Anchor>,
            ],
            [
              t`Its half`,
              version === undefined ? (
                "–"
              ) : (
                <Anchor
                  key="version"
                  component={Link}
                  to={`/models/${version.pair}`}
                  search={{ version: version.id } as never}
                  size="sm"
                >
                  {nameOf(version)}
                </Anchor>
              ),
            ],
            [
              t`Its owner`,
              party.joined_at === null ? t`has not agreed yet` : <Agreed key="agreed" at={party.joined_at} />,
            ],
            [t`People in its table`, party.people === null ? "–" : counted(party.people)],
            [t`Columns`, party.columns === null ? "–" : counted(party.columns)],
            [t`Sent`, t`${counted(party.sent)} letters, ${bytes(party.sent_bytes)}`],
            [t`Taken from the other`, t`${counted(party.taken)} letters`],
            [t`Last heard of`, <When key="seen" at={party.seen_at} />],
          ]}
        />
        {(
          [
            [t`It gives`, gives],
            [t`It learns`, learns],
            [t`It never sees`, never],
          ] as const
        ).map(([heading, words]) => (
          <div key={heading}>
            <Text size="sm" fw={550}>
              {heading}
            </Text>
            <Text size="sm">{words}</Text>
          </div>
        ))}
        {party.joined_at === null && isActive(alliance) && (
          <Stack gap={4}>
            <Text size="sm">
              Its owner agrees on the device. KEY is the other device’s, as its owner tells it: “coterie-agent ally”
              prints it there.
            </Text>
            <Command>{commandFor(alliance.id, party.role)}</Command>
          </Stack>
        )}
      </Stack>
    </Panel>
  );
}

function Agreed({ at }: { at: string }) {
  return (
    <>
      agreed <When at={at} />
    </>
  );
}
