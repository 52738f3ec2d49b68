import { Drawer, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Answer } from "../components/Answer";
import { useFocusBack } from "../components/focus";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { When } from "../components/When";
import { t } from "../language/t";
import { Curve } from "./Curve";
import { jobWords } from "./kinds";
import { Lines } from "./Lines";
import { type Job, jobQuery } from "./queries";
import { Workers } from "./Workers";

/** Others have no workers. */
const ACTIVE: ReadonlySet<string | undefined> = new Set(["queued", "running"]);

/** A job beside the list: how it stands, and what it has told of itself, line by line as it does. */
export function JobLog({ id, onClose }: { id: string; onClose: () => void }) {
  useFocusBack();
  const job = useQuery(jobQuery(id));
  return (
    <Drawer opened onClose={onClose} title={titleOf(job.data)} position="right" size="lg">
      <Answer of={job} height={60}>
        {(found) => (
          <Stack gap="md">
            <Standing job={found} />
            {ACTIVE.has(found.state) && <Workers job={found} />}
            {found.kind === "bootstrap" && <Curve id={id} />}
            <Lines job={id} />
          </Stack>
        )}
      </Answer>
    </Drawer>
  );
}

function titleOf(job: Job | undefined): string {
  return job === undefined ? t`Job` : jobWords(job);
}

function Standing({ job }: { job: Job }) {
  return (
    <div>
      <Group gap="sm">
        <State of={job.state ?? "queued"} />
        <Text size="sm" c="var(--quiet)">
          asked for <When at={job.created_at} />
          {job.finished_at !== null && (
            <>
              , ended <When at={job.finished_at} />
            </>
          )}
        </Text>
      </Group>
      {job.error_code ? <Reason sentence={job.error_sentence ?? ""} code={job.error_code} detailed /> : null}
    </div>
  );
}
