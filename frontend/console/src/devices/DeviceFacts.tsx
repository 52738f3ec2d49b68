import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { bytes, counted, duration } from "../components/units";
import { When } from "../components/When";
import { groupsOfQuery } from "../federations/division";
import { t } from "../language/t";
import { networkOf } from "./network";
import type { Device } from "./queries";

const ANSWERS: Readonly<Record<string, string>> = { yes: t`yes`, no: t`no` };

/** What the device is, and what it last told of itself. */
export function DeviceFacts({ device }: { device: Device }) {
  const { capabilities, conditions, metadata } = device;
  const { data: groups } = useQuery(groupsOfQuery(device.id));
  const reported = (of: unknown, name: string): unknown =>
    typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
  const answer = (name: string) => ANSWERS[String(reported(conditions, name))] ?? t`unknown`;
  const memory = reported(capabilities, "memory_bytes");
  const heat = reported(conditions, "temperature_c");
  const samples = reported(metadata, "samples");
  return (
    <Panel title="Now">
      <Facts
        of={[
          [t`Seen`, <When key="seen" at={device.last_seen_at} />],
          [t`Charging`, answer("charging")],
          [t`Network`, networkOf(reported(conditions, "network"))],
          [t`Idle`, answer("idle")],
          [t`Temperature`, typeof heat === "number" ? `${heat.toFixed(0)} °C` : t`unknown`],
          [t`Samples it keeps`, typeof samples === "number" ? counted(samples) : "–"],
          ...labelFacts(metadata),
          [t`Train step`, device.train_step_s == null ? "–" : duration(device.train_step_s)],
          [t`Machine`, String(reported(capabilities, "machine") ?? "–")],
          [t`Cores`, String(reported(capabilities, "cores") ?? "–")],
          [t`Memory`, typeof memory === "number" ? bytes(memory) : "–"],
          [t`Agent`, String(reported(capabilities, "agent") ?? "–")],
          [
            t`Holds`,
            device.held_version === "" ? (
              t`no version yet`
            ) : (
              <Anchor key="holds" component={Link} to={`/models/versions/${device.held_version}`} size="sm">
                this version
              </Anchor>
            ),
          ],
          ...(groups?.results ?? []).map(
            ({ id, group, group_name, federation }) =>
              [
                t`Group`,
                <Anchor
                  key={id}
                  component={Link}
                  to={`/federations/${federation}`}
                  search={{ tab: "groups", group } as never}
                  size="sm"
                >
                  {group_name}
                </Anchor>,
              ] as const,
          ),
          [t`Joined`, <When key="joined" at={device.enrolled_at} />],
          [t`Certificate`, <Certificate key="certificate" until={device.certificate_until} />],
        ]}
      />
    </Panel>
  );
}

/** Until when the certificate of its connections lasts. */
function Certificate({ until }: { readonly until: string | null | undefined }): ReactNode {
  if (until === null || until === undefined) return t`none was given`;
  return Date.parse(until) < Date.now() ? (
    <>
      ended <When at={until} />
    </>
  ) : (
    <>
      ends <When at={until} />
    </>
  );
}

/** Who says what its samples show, where it tells of others than those that came with their labels. */
export function labelFacts(metadata: unknown): readonly (readonly [string, string])[] {
  const told = (metadata as { labels?: Readonly<Record<string, number>> } | null)?.labels;
  if (told === undefined) return [];
  const { asked = 0, implied = 0, unlabelled = 0, questions = 0, answers = 0 } = told;
  return [
    [
      t`Labels`,
      t`${counted(asked)} said by its owner, ${counted(implied)} seen by a program; ${counted(unlabelled)} missing`,
    ],
    [t`Questions to its owner`, t`${counted(questions)}, ${counted(answers)} answered`],
  ];
}
