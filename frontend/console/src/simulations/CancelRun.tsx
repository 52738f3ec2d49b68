import { Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { RUNS, type Run } from "./queries";

const LONGEST_WHY = 200;

/** Stops a run that waits or runs, with a reason that everybody reads. */
export function CancelRun({ run }: { run: Run }) {
  const [why, say] = useState("");
  if (run.state !== "queued" && run.state !== "running") return null;
  return (
    <Action
      action="simulation_runs.cancel_run"
      label="Cancel"
      confirmLabel="Cancel the run"
      danger
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            It ends within seconds. What it has done is kept: the same command has it go on from there. A sweep that
            waits for it ends, too.
          </Text>
          <TextInput
            label="Why"
            description="everybody reads it beside the run"
            maxLength={LONGEST_WHY}
            value={why}
            onChange={(event) => say(event.currentTarget.value)}
          />
        </Stack>
      }
      done="The run is cancelled."
      changes={[RUNS]}
      onDone={() => say("")}
      call={(via) =>
        api.POST("/api/simulation-runs/{id}/cancel/", { params: { path: { id: run.id } }, body: { why }, ...via })
      }
    />
  );
}
