import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Answer } from "../components/Answer";
import { clock } from "../components/locale";
import classes from "./JobLog.module.css";
import { logQuery } from "./queries";

/** What a job has told of itself, line by line, as it does. */
export function Lines({ job }: { job: string }) {
  return (
    <Answer of={useQuery(logQuery(job))} height={160}>
      {(lines) =>
        lines.length === 0 ? (
          <Text size="sm" c="var(--quiet)">
            It has told nothing yet.
          </Text>
        ) : (
          <ol className={classes.lines} aria-label="Log">
            {lines.map(({ id, at, text }) => (
              <li key={id}>
                <time dateTime={at}>{clock(at)}</time>
                <span>{text}</span>
              </li>
            ))}
          </ol>
        )
      }
    </Answer>
  );
}
