import { Anchor, Progress, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { counted } from "../components/units";
import type { AgentRollout } from "./queries";
import { isActive, progressOf, share } from "./standing";

/** Whose devices a release is for. */
export function Whose({ rollout }: { rollout: AgentRollout }) {
  if (rollout.device !== null) {
    return (
      <Anchor component={Link} to={`/devices/${rollout.device}`} size="sm">
        one device
      </Anchor>
    );
  }
  return <>{rollout.tag === "" ? "all devices" : `tag ${rollout.tag}`}</>;
}

/** The share of the devices that have a release, of all that could. */
export function HowFar({ rollout }: { rollout: AgentRollout }) {
  const { devices, installed, failed } = progressOf(rollout);
  const have = devices === 0 ? 0 : installed / devices;
  const phase = rollout.phase + 1;
  const missed = devices === 0 ? 0 : failed / devices;
  return (
    <Stack gap={3}>
      <Progress.Root size="sm">
        <Progress.Section value={100 * have} aria-label={`${share(have)} have it`} />
        {failed > 0 && (
          <Progress.Section value={100 * missed} color="red" aria-label={`${share(missed)} could not use it`} />
        )}
      </Progress.Root>
      <Text size="xs" c="var(--quiet)">
        {counted(installed)} of {counted(devices)} have it
        {isActive(rollout) && rollout.phases.length > 1 && `; phase ${phase} of ${rollout.phases.length}`}
      </Text>
    </Stack>
  );
}

/** How many could not use a release, and what share that is of those that tried. */
export function Failed({ rollout }: { rollout: AgentRollout }) {
  const { failed, installed, returned } = progressOf(rollout);
  const tried = failed + installed + returned;
  if (tried === 0) return <>–</>;
  return (
    <>
      {counted(failed)} ({share(failed / tried)})
    </>
  );
}
