import { Group, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Panel } from "../components/Panel";
import { bytes, counted } from "../components/units";
import { t } from "../language/t";
import {
  AGENT_ROLLOUTS,
  type AgentReleases,
  type AgentRollout,
  activeRolloutQuery,
  agentVersionsQuery,
} from "./queries";
import { phasesIn, takersOf, whyNoRelease } from "./standing";

const DAY_S = 86_400;
const HOUR_S = 3600;
const MINUTE_S = 60;

/** Asks a growing share of devices to install a release of the agent. */
export function StartForm({ of, onStarted }: { of: AgentReleases; onStarted: (rollout: AgentRollout) => void }) {
  const { data: active } = useQuery(activeRolloutQuery);
  const form = useForm({
    initialValues: {
      version: of.releases[0]?.version ?? "",
      tag: "",
      phases: "5, 25, 100",
      hours: 24 as number | string,
      minutes: 10 as number | string,
      days: 7 as number | string,
      failures: 10 as number | string,
    },
  });
  const given = form.values;
  const phases = phasesIn(given.phases);
  const { data: versions } = useQuery(agentVersionsQuery(given.tag.trim()));
  const takers = versions === undefined ? undefined : takersOf(versions, given.version);
  const blocked =
    whyNoRelease(of) ??
    (active == null ? undefined : t`Agent ${active.version} is on its way already; let that end, or stop it first.`) ??
    (phases === undefined ? t`Give the phases as percentages that grow, such as 5, 25, 100.` : undefined) ??
    ([given.hours, given.minutes, given.days, given.failures].includes("") ? t`Fill in every number.` : undefined);
  return (
    <Panel title="What, and to whom">
      <Stack gap="md">
        <Group align="flex-start" gap="md">
          <Select
            label="Release"
            description="signed, of the repository"
            placeholder="none yet"
            data={of.releases.map(({ version, size_bytes }) => ({
              value: version,
              label: `${version} (${bytes(size_bytes)})`,
            }))}
            allowDeselect={false}
            w={220}
            {...form.getInputProps("version")}
          />
          <TextInput label="Tag" description="of the devices; blank: all" w={220} {...form.getInputProps("tag")} />
          <TextInput
            label="Phases"
            description="percentages of the devices that grow"
            error={phases === undefined ? t`such as 5, 25, 100` : undefined}
            w={260}
            {...form.getInputProps("phases")}
          />
        </Group>
        <Group align="flex-start" gap="md">
          <NumberInput
            label="Hours that each phase is watched"
            description="before the next begins"
            min={0}
            max={720}
            w={260}
            {...form.getInputProps("hours")}
          />
          <NumberInput
            label="Minutes to check in"
            description="else a device goes back by itself"
            min={1}
            max={1440}
            w={240}
            {...form.getInputProps("minutes")}
          />
          <NumberInput
            label="Days to wait for a phase"
            description="if all its devices are offline"
            min={0}
            max={30}
            w={240}
            {...form.getInputProps("days")}
          />
          <NumberInput
            label="Failures that are borne, %"
            description="of the devices that tried it"
            min={0}
            max={100}
            w={240}
            {...form.getInputProps("failures")}
          />
        </Group>
        {takers !== undefined && phases !== undefined && (
          <Text size="sm" role="status">
            {reach(takers, phases)}
          </Text>
        )}
        <Text size="sm" c="var(--quiet)">
          A device verifies the release itself, asks its owner where he wants that, and keeps the agent before. More
          failures than are borne take the release back from all.
        </Text>
        {blocked !== undefined && (
          <Text size="sm" role="status">
            {blocked}
          </Text>
        )}
        <Group>
          <Action
            action="agent_rollouts.start_agent_rollout"
            label="Roll out"
            primary
            blocked={blocked}
            done={`Agent ${given.version} is on its way.`}
            changes={[AGENT_ROLLOUTS]}
            onDone={(answer) => onStarted((answer as { data: AgentRollout }).data)}
            call={(via) =>
              api.POST("/api/agent-rollouts/", {
                body: {
                  version: given.version,
                  tag: given.tag.trim(),
                  phases: [...(phases ?? [])],
                  hold_s: HOUR_S * Number(given.hours),
                  probation_s: MINUTE_S * Number(given.minutes),
                  absent_s: DAY_S * Number(given.days),
                  most_failures: Number(given.failures) / 100,
                },
                ...via,
              })
            }
          />
        </Group>
      </Stack>
    </Panel>
  );
}

/** How many devices each phase asks: "2 devices at first, then 9, at last 34". */
export function reach(takers: number, phases: readonly number[]): string {
  if (takers === 0) return t`No device would take it: all have it or a newer one, or take no updates.`;
  const many = phases.map((one) => counted(Math.ceil(one * takers)));
  const [first = "", ...then] = many;
  const later = then.join(t`, then `);
  if (takers === 1) {
    return later === ""
      ? t`It asks ${first} of 1 device that takes it.`
      : t`It asks ${first} at first, then ${later}, of 1 device that takes it.`;
  }
  return later === ""
    ? t`It asks ${first} of ${counted(takers)} devices that take it.`
    : t`It asks ${first} at first, then ${later}, of ${counted(takers)} devices that take it.`;
}
