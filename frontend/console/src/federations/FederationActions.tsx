import { api } from "../api/client";
import { Action } from "../components/Action";
import { Archive } from "../components/Archive";
import { Describe } from "../components/Describe";
import { t } from "../language/t";
import { PAIRS, VERSIONS } from "../models/queries";
import { FEDERATIONS, type Federation, ROUNDS } from "./queries";

/** Why one in such a state cannot be archived. */
const UNFINISHED: { readonly [state in Federation["state"]]?: string } = {
  running: t`It is running; finish it first.`,
  paused: t`It is paused; finish it first.`,
};

/** Start, pause, finish, and for one with versions of its own: make them the pair's. */
export function FederationActions({ federation }: { federation: Federation }) {
  const path = { id: federation.id };
  const changes = [FEDERATIONS, ROUNDS];
  const { state } = federation;
  return (
    <>
      {state === "running" ? (
        <Action
          action="federations.pause_federation"
          label="Pause"
          done="The round that is open comes to its end; no other opens."
          changes={changes}
          call={(via) => api.POST("/api/federations/{id}/pause/", { params: { path }, ...via })}
        />
      ) : (
        <Action
          action="federations.start_federation"
          label="Start"
          primary
          blocked={
            state === "finished"
              ? t`It is finished; make another federation.`
              : federation.archived_at === null
                ? undefined
                : t`It is archived; restore it first.`
          }
          done="It holds rounds from now on."
          changes={changes}
          call={(via) => api.POST("/api/federations/{id}/start/", { params: { path }, ...via })}
        />
      )}
      {federation.own_versions && (
        <Action
          action="federations.adopt_versions"
          label="Make its versions the pair's"
          blocked={state === "draft" ? t`It has none before it is started.` : undefined}
          confirm="Whoever follows the pair gets what this federation has come to, as the pair's next version."
          done="The pair's next version is this federation's."
          changes={[...changes, PAIRS, VERSIONS]}
          call={(via) => api.POST("/api/federations/{id}/adopt/", { params: { path }, ...via })}
        />
      )}
      <Describe
        action="federations.describe_federation"
        name={federation.name}
        notes={federation.notes ?? ""}
        changes={changes}
        call={(described, via) => api.PATCH("/api/federations/{id}/", { params: { path }, body: described, ...via })}
      />
      {state !== "finished" && (
        <Action
          action="federations.finish_federation"
          label="Finish"
          danger
          confirm="It opens no further round, for good. Its model pair is free for another federation."
          changes={changes}
          call={(via) => api.POST("/api/federations/{id}/finish/", { params: { path }, ...via })}
        />
      )}
      <Archive
        app="federations"
        kind="federation"
        archivedAt={federation.archived_at}
        blocked={UNFINISHED[state]}
        changes={changes}
        archive={(via) => api.POST("/api/federations/{id}/archive/", { params: { path }, ...via })}
        restore={(via) => api.POST("/api/federations/{id}/restore/", { params: { path }, ...via })}
      />
    </>
  );
}
