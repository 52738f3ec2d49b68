import type { QueryKey } from "@tanstack/react-query";
import { api } from "../api/client";
import { Cancel } from "../components/Cancel";
import { t } from "../language/t";
import { JOBS } from "./queries";

/** Stops a job that waits or runs, with a reason that everybody reads. */
export function CancelJob({ id, changes = [] }: { id: string; changes?: readonly QueryKey[] }) {
  return (
    <Cancel
      action="cloud_training.cancel_job"
      confirmLabel="Cancel the job"
      says={t`It ends within seconds. What it has done so far is kept, so that it can be tried again.`}
      done="The job is cancelled."
      changes={[JOBS, ...changes]}
      call={(why) => (via) => api.POST("/api/jobs/{id}/cancel/", { params: { path: { id } }, body: { why }, ...via })}
    />
  );
}
