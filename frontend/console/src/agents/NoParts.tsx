import { Deleted } from "../components/Deleted";
import { Empty } from "../components/Empty";
import type { AgentRollout } from "./queries";
import { progressOf } from "./standing";

/** Why no device is listed. */
export function NoParts({ rollout }: { rollout: AgentRollout }) {
  if (rollout.answers_deleted_after_days !== null && progressOf(rollout).asked > 0) {
    return (
      <Empty title="No device is listed any more">
        <Deleted days={rollout.answers_deleted_after_days} />
      </Empty>
    );
  }
  return <Empty title="No device has been asked yet">Devices are asked within seconds, a share at a time.</Empty>;
}
