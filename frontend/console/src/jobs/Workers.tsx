import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
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
  const many = ranks === 1 ? "1 worker" : `${ranks} workers`;
  if (shares.length === 0) return wanted === "" ? many : `${many}, to be started by ${launcherName(wanted)}`;
  return `${many}: ${shares.map((share) => `${share.ranks} on ${share.host}`).join(", ")}`;
}

const STANDINGS: Readonly<Record<string, string>> = {
  waits: "has them wait",
  runs: "runs them",
  over: "has ended them",
};

function standing({ launcher, launcher_state, launcher_sentence }: Job): string {
  const state = STANDINGS[launcher_state] ?? launcher_state;
  const said = launcher_sentence === "" ? "" : `: ${launcher_sentence}`;
  return `${launcherName(launcher)} ${launcher === "here" ? "run them" : state}${said}.`;
}
