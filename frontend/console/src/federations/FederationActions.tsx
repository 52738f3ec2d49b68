import { api } from "../api/client";
import { Action } from "../components/Action";
import { FEDERATIONS, type Federation, ROUNDS } from "./queries";

/** Start, pause, finish. */
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
          blocked={state === "finished" ? "It is finished; make another federation." : undefined}
          done="It holds rounds from now on."
          changes={changes}
          call={(via) => api.POST("/api/federations/{id}/start/", { params: { path }, ...via })}
        />
      )}
      <Action
        action="federations.finish_federation"
        label="Finish"
        danger
        blocked={state === "finished" ? "It is finished." : undefined}
        confirm="It opens no further round, for good. Its model pair is free for another federation."
        changes={changes}
        call={(via) => api.POST("/api/federations/{id}/finish/", { params: { path }, ...via })}
      />
    </>
  );
}
