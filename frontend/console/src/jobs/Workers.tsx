import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { t } from "../language/t";
import { launcherName } from "./launchers";
import { type Job, type JobWorkers, workersQuery } from "./queries";

/** Where a job's workers are, who starts them and how they are there; or why they wait. */
export function Workers({ job }: { job: Job }) {
  const { data: workers } = useQuery(workersQuery(job.id));
  if (workers === undefined) return null;
  return (
    <section aria-label="Workers">
      {workers.state !== "ended" && (
        <Group gap="sm">
          <State of={workers.state} />
          <Text size="sm">{where(workers)}</Text>
        </Group>
      )}
      {workers.reason_code !== "" && <Reason sentence={workers.reason_sentence} code={workers.reason_code} />}
      {job.launcher !== "" && (
        <Text size="sm" c="var(--quiet)">
          {standing(job)}
        </Text>
      )}
    </section>
  );
}

function where({ ranks, shares, launcher_wanted: wanted }: JobWorkers): string {
  const many = ranks === 1 ? t`1 worker` : t`${ranks} workers`;
  if (shares.length === 0) return wanted === "" ? many : t`${many}, to be started by ${launcherName(wanted)}`;
  return `${many}: ${shares.map(share).join("; ")}`;
}

function share({ ranks, host, gpus }: JobWorkers["shares"][number]): string {
  if (gpus.length === 0) return t`${ranks} on ${host}`;
  const numbers = gpus.join(", ");
  return gpus.length === 1
    ? t`${ranks} on ${host}, on its GPU ${numbers}`
    : t`${ranks} on ${host}, on its GPUs ${numbers}`;
}

/** What a launcher does with the workers, by its state. */
const STANDINGS: Readonly<Record<string, (launcher: string) => string>> = {
  waits: (launcher) => t`${launcher} has them wait`,
  runs: (launcher) => t`${launcher} runs them`,
  over: (launcher) => t`${launcher} has ended them`,
};

function standing({ launcher, launcher_state, launcher_sentence }: Job): string {
  const name = launcherName(launcher);
  const said =
    launcher === "here"
      ? t`The platform's hosts run them`
      : (STANDINGS[launcher_state]?.(name) ?? `${name} ${launcher_state}`);
  return launcher_sentence === "" ? `${said}.` : `${said}: ${launcher_sentence}.`;
}
