import { api } from "../api/client";
import { Cancel } from "../components/Cancel";
import { t } from "../language/t";
import { RUNS, type Run } from "./queries";

/** Stops a run that waits or runs, with a reason that everybody reads. */
export function CancelRun({ run }: { run: Run }) {
  if (run.state !== "queued" && run.state !== "running") return null;
  return (
    <Cancel
      action="simulation_runs.cancel_run"
      confirmLabel="Cancel the run"
      says={t`It ends within seconds. What it has done is kept: the same command has it go on from there. A sweep that waits for it ends, too.`}
      done="The run is cancelled."
      changes={[RUNS]}
      call={(why) => (via) =>
        api.POST("/api/simulation-runs/{id}/cancel/", { params: { path: { id: run.id } }, body: { why }, ...via })
      }
    />
  );
}
