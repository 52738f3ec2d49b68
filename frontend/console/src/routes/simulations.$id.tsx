import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useMemo } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { until } from "../components/until";
import { When } from "../components/When";
import { t } from "../language/t";
import { CancelRun } from "../simulations/CancelRun";
import { outcomeOf, roundRows } from "../simulations/outcome";
import { nameOf, RUNS, runQuery } from "../simulations/queries";
import { RunParts } from "../simulations/RunParts";
import { SaveJson, SaveTable } from "../simulations/Save";
import { kindsOf } from "../simulations/varied";

export const Route = createFileRoute("/simulations/$id")({
  component: RunPage,
  loader: ({ context, params }) => context.queryClient.ensureQueryData(runQuery(params.id)),
  ...until(t`Run`),
});

function RunPage() {
  const { id } = Route.useParams();
  const navigate = Route.useNavigate();
  const { data: run } = useSuspenseQuery(runQuery(id));
  const outcome = useMemo(() => outcomeOf(run?.outcome ?? ""), [run?.outcome]);
  if (run === undefined) return null;
  const kinds = kindsOf(run.wanted.plan);
  const asked =
    run.asked_by === ""
      ? t`${kinds}, seed ${run.wanted.seed}, asked for`
      : t`${kinds}, seed ${run.wanted.seed}, asked for by ${run.asked_by}`;
  return (
    <>
      <PageHead
        title={nameOf(run)}
        says={
          <>
            <State of={run.state} /> {asked} <When at={run.created_at} />{" "}
            {run.reason_code !== "" && <Reason sentence={run.reason_sentence} code={run.reason_code} />}
          </>
        }
      >
        {outcome !== undefined && (
          <>
            <SaveJson name={`run-${id}`} content={run.outcome} />
            <SaveTable name={`run-${id}-rounds`} of={roundRows(outcome)} />
          </>
        )}
        <CancelRun run={run} />
        <Action
          action="simulation_runs.remove_fleet"
          label="Remove the sweep"
          danger
          confirm="All runs of the sweep go, with what they found; those that run end within seconds."
          done="The sweep is removed."
          changes={[[...RUNS, "list"]]}
          onDone={() => navigate({ to: "/simulations", search: { tab: "runs" } })}
          call={(via) => api.DELETE("/api/simulated-fleets/{id}/", { params: { path: { id: run.fleet } }, ...via })}
        />
      </PageHead>
      <RunParts run={run} outcome={outcome} />
    </>
  );
}
