import { useQuery } from "@tanstack/react-query";
import { Answer } from "../components/Answer";
import { LogLines } from "../components/LogLines";
import { t } from "../language/t";
import { logQuery } from "./queries";

/** What a job has told of itself, line by line, as it does. */
export function Lines({ job }: { job: string }) {
  return (
    <Answer of={useQuery(logQuery(job))} height={160}>
      {(lines) => <LogLines title={t`Job ${job}`} lines={lines} none={t`It has told nothing yet.`} />}
    </Answer>
  );
}
