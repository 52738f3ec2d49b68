import { Anchor, Progress, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { FederationDot } from "../federations/FederationDot";
import { jobWords } from "../jobs/kinds";
import classes from "./Now.module.css";
import type { Overview } from "./queries";

/** Rounds and jobs that are under way, and what they wait for. */
export function Now({ overview }: { overview: Overview }) {
  const { active_rounds: rounds, active_jobs: jobs } = overview;
  return (
    <Panel title="Under way">
      {rounds.length + jobs.length === 0 && (
        <Text size="sm" c="var(--quiet)">
          No round is held and no job runs.{" "}
          <Anchor component={Link} to="/federations" size="sm">
            Start a federation
          </Anchor>{" "}
          to hold some.
        </Text>
      )}
      <Stack gap="sm" component="ul" className={classes.list}>
        {rounds.map((round) => (
          <li key={round.id}>
            <FederationDot of={round.federation} />
            <Anchor
              component={Link}
              to={`/federations/${round.federation}/rounds/${round.id}`}
              size="sm"
              fw={550}
              c="inherit"
              underline="hover"
            >
              {round.federation_name}, round {round.number}
            </Anchor>{" "}
            <State of={round.state} />
            <Progress
              value={round.devices === 0 ? 0 : (100 * round.updates) / round.devices}
              size="sm"
              my={4}
              aria-label={`Updates of ${round.federation_name}, round ${round.number}`}
            />
            <div>
              {round.reason_code === "" ? (
                <Text size="sm" c="var(--quiet)">
                  {round.updates} of {round.devices} devices have delivered
                </Text>
              ) : (
                <Reason sentence={round.reason_sentence} code={round.reason_code} />
              )}
            </div>
          </li>
        ))}
        {jobs.map((job) => (
          <li key={job.id}>
            <Anchor component={Link} to="/jobs" size="sm" fw={550} c="inherit" underline="hover">
              {jobWords(job)}
            </Anchor>{" "}
            <State of={job.state ?? "queued"} />
            <Progress value={100 * (job.progress ?? 0)} size="sm" my={4} aria-label={jobWords(job)} />
            <Text size="sm" c="var(--quiet)">
              {job.progress_sentence}
            </Text>
          </li>
        ))}
      </Stack>
    </Panel>
  );
}
