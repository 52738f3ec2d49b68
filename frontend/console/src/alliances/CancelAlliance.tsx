import { api } from "../api/client";
import { Action } from "../components/Action";
import { ALLIANCES, type Alliance } from "./queries";
import { isActive } from "./standing";

/** Stops an alliance for good; nothing of one that has ended. */
export function CancelAlliance({ alliance }: { alliance: Alliance }) {
  if (!isActive(alliance)) return null;
  return (
    <Action
      action="alliances.cancel_alliance"
      label="Stop"
      danger
      confirm="Both parties stop as they next ask, and what was learned so far is lost. Another alliance begins anew."
      done={`${alliance.name} is stopped.`}
      changes={[ALLIANCES]}
      call={(via) => api.POST("/api/alliances/{id}/cancel/", { params: { path: { id: alliance.id } }, ...via })}
    />
  );
}
