import { api } from "../api/client";
import { Action } from "../components/Action";
import { ROUNDS, type RoundDetail } from "./queries";

/** What can be done to one round: an abandoned one, whose updates are still there, is merged once more. */
export function RoundActions({ round }: { round: RoundDetail }) {
  if (round.state !== "abandoned") return null;
  return (
    <Action
      action="rounds.merge_again"
      label="Merge again"
      primary
      blocked={round.why_not_again ?? undefined}
      done={`The updates of round ${round.number} are merged again.`}
      changes={[ROUNDS]}
      call={(via) => api.POST("/api/rounds/{id}/merge-again/", { params: { path: { id: round.id } }, ...via })}
    />
  );
}
