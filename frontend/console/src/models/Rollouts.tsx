import { Group, Progress, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { PAIRS, VERSIONS } from "./queries";
import {
  errorsOf,
  isActive,
  progressOf,
  ROLLOUTS,
  type Rollout,
  rolloutQuery,
  rolloutsQuery,
  verdictOf,
} from "./rollouts";

/** What is on its way to the devices of a pair, live, and how the latest roll-outs ended; nothing where there are none. */
export function Rollouts({ pair }: { pair: string }) {
  const { data } = useQuery(rolloutsQuery(pair));
  if (data === undefined || data.results.length === 0) return null;
  const ended = data.results.filter((one) => !isActive(one));
  return (
    <Panel title="Roll-outs">
      <Stack gap="lg">
        {data.results.filter(isActive).map((one) => (
          <Active key={one.id} rollout={one} />
        ))}
        {ended.length > 0 && <Ended rollouts={ended} />}
      </Stack>
    </Panel>
  );
}

function Active({ rollout }: { rollout: Rollout }) {
  const { data: detail } = useQuery(rolloutQuery(rollout.id));
  const { devices, reports } = progressOf(rollout);
  const errors = errorsOf(rollout);
  const path = { params: { path: { id: rollout.id } } };
  const changes = [ROLLOUTS, PAIRS, VERSIONS];
  return (
    <Stack gap="sm" role="group" aria-label={`Roll-out of version ${rollout.version_number}`}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <State of={rollout.state ?? "planned"} /> version {rollout.version_number}{" "}
          <Reason sentence={rollout.reason_sentence ?? ""} code={rollout.reason_code ?? ""} />
        </Text>
        <Group gap="xs">
          <Action
            action="rollouts.promote_rollout"
            label="Promote now"
            confirm={`Every device gets version ${rollout.version_number}, whatever has been reported.`}
            done={`Version ${rollout.version_number} is in use.`}
            changes={changes}
            call={(via) => api.POST("/api/rollouts/{id}/promote/", { ...path, ...via })}
          />
          <Action
            action="rollouts.cancel_rollout"
            label="Stop"
            danger
            confirm="The canary group goes back to the version in use."
            done="The canary group goes back to the version in use."
            changes={changes}
            call={(via) => api.POST("/api/rollouts/{id}/cancel/", { ...path, ...via })}
          />
        </Group>
      </Group>
      {devices > 0 && (
        <Progress value={(100 * reports) / devices} aria-label={`${reports} of ${devices} devices have reported`} />
      )}
      <Facts
        of={[
          ["Devices that have told", devices === 0 ? "–" : `${reports} of ${devices}`],
          [`Its ${errors?.what ?? "error"}`, errors?.candidate ?? "–"],
          [`The champion's ${errors?.what ?? "error"}`, errors?.champion ?? "–"],
          ["May be worse by", String((rollout.terms as { threshold?: number }).threshold ?? "–")],
          ["Judged at the latest", <When key="due" at={rollout.due_at} />],
        ]}
      />
      {detail !== undefined && detail.trials.length > 0 && (
        <Table verticalSpacing={5} aria-label="Canary group">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Device</Table.Th>
              <Table.Th>Found</Table.Th>
              <Table.Th ta="end">Told</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {detail.trials.map((trial) => (
              <Table.Tr key={trial.id}>
                <Table.Td>
                  <Link to="/devices/$id" params={{ id: trial.device }}>
                    {trial.device_name}
                  </Link>
                </Table.Td>
                <Table.Td>{verdictOf(trial)}</Table.Td>
                <Table.Td ta="end">
                  <When at={trial.reported_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  );
}

function Ended({ rollouts }: { rollouts: readonly Rollout[] }) {
  return (
    <Table.ScrollContainer minWidth={420} type="native" tabIndex={0}>
      <Table verticalSpacing={5} aria-label="Roll-outs that have ended">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Version</Table.Th>
            <Table.Th>Outcome</Table.Th>
            <Table.Th>Why</Table.Th>
            <Table.Th ta="end">Its error</Table.Th>
            <Table.Th ta="end">The champion's</Table.Th>
            <Table.Th ta="end">Ended</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rollouts.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td>{one.version_number}</Table.Td>
              <Table.Td>
                <State of={one.state ?? "cancelled"} />
              </Table.Td>
              <Table.Td>
                <Reason sentence={one.reason_sentence ?? ""} code={one.reason_code ?? ""} />
              </Table.Td>
              <Table.Td ta="end">{errorsOf(one)?.candidate ?? "–"}</Table.Td>
              <Table.Td ta="end">{errorsOf(one)?.champion ?? "–"}</Table.Td>
              <Table.Td ta="end">
                <When at={one.ended_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
