import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { AskWhy } from "../components/AskWhy";
import { counted } from "../components/units";
import { t } from "../language/t";
import { AGENT_ROLLOUTS, type AgentRollout } from "./queries";
import { isActive, progressOf } from "./standing";

/** What can be done about a roll-out of the agent that is under way. */
export function RolloutActions({ rollout }: { rollout: AgentRollout }) {
  const [why, say] = useState("");
  if (!isActive(rollout)) return null;
  const { installed, open } = progressOf(rollout);
  const path = { id: rollout.id };
  const changes = [AGENT_ROLLOUTS];
  const onDone = () => say("");
  const asking = (sentence: string) => (
    <AskWhy says={sentence} where={t`everybody reads it beside the roll-out`} why={why} onWhy={say} />
  );
  return (
    <>
      {rollout.state === "running" ? (
        <Action
          action="agent_rollouts.pause_agent_rollout"
          label="Pause"
          confirm={asking(
            open === 1
              ? t`No further device is asked to install agent ${rollout.version}, and the one device that has not begun waits.`
              : t`No further device is asked to install agent ${rollout.version}, and the ${counted(open)} devices that have not begun wait.`,
          )}
          done={`The roll-out of agent ${rollout.version} is paused.`}
          changes={changes}
          onDone={onDone}
          call={(via) => api.POST("/api/agent-rollouts/{id}/pause/", { params: { path }, body: { why }, ...via })}
        />
      ) : (
        <Action
          action="agent_rollouts.resume_agent_rollout"
          label="Resume"
          primary
          done={`The roll-out of agent ${rollout.version} goes on; its phase is watched anew.`}
          changes={changes}
          call={(via) => api.POST("/api/agent-rollouts/{id}/resume/", { params: { path }, ...via })}
        />
      )}
      {rollout.phase + 1 < rollout.phases.length && (
        <Action
          action="agent_rollouts.pass_phase"
          label="Next phase"
          confirm={asking(
            t`Further devices are asked to install agent ${rollout.version}, whatever this phase has told.`,
          )}
          done={t`The next phase of agent ${rollout.version} begins.`}
          changes={changes}
          onDone={onDone}
          call={(via) => api.POST("/api/agent-rollouts/{id}/pass-phase/", { params: { path }, body: { why }, ...via })}
        />
      )}
      <Action
        action="agent_rollouts.stop_agent_rollout"
        label="Stop"
        confirm={asking(
          installed === 1
            ? t`Nobody else is asked. 1 keeps agent ${rollout.version}.`
            : t`Nobody else is asked. ${counted(installed)} keep agent ${rollout.version}.`,
        )}
        done={`The roll-out of agent ${rollout.version} is stopped.`}
        changes={changes}
        onDone={onDone}
        call={(via) => api.POST("/api/agent-rollouts/{id}/stop/", { params: { path }, body: { why }, ...via })}
      />
      <Action
        action="agent_rollouts.roll_back_agent_rollout"
        label="Roll back"
        danger
        confirm={asking(
          installed === 1
            ? t`Nobody else is asked, and the one device that has agent ${rollout.version} goes back to the agent before.`
            : t`Nobody else is asked, and the ${counted(installed)} devices that have agent ${rollout.version} go back to the agent before.`,
        )}
        done={`Devices with agent ${rollout.version} go back to the agent before.`}
        changes={changes}
        onDone={onDone}
        call={(via) => api.POST("/api/agent-rollouts/{id}/roll-back/", { params: { path }, body: { why }, ...via })}
      />
    </>
  );
}
