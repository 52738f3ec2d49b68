import { Group, Modal, Text } from "@mantine/core";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { useFocusBack } from "../components/focus";
import { t } from "../language/t";
import { REPAIRED, type Repair } from "./queries";

const DAYS: readonly (readonly [label: string, days: number | null])[] = [
  [t`Remind me tomorrow`, 1],
  [t`Remind me in a week`, 7],
  [t`Ignore it`, null],
];

/** For how long a fault is not shown. */
export default function NotNow({ repair, onClose }: { repair: Repair; onClose: () => void }) {
  useFocusBack();
  return (
    <Modal opened onClose={onClose} title="Not now" centered size="lg">
      <Text size="sm" mb="lg">
        {repair.sentence}
      </Text>
      <Group gap="xs">
        {DAYS.map(([label, days]) => (
          <Action
            key={label}
            action="repairs.mute_repair"
            label={label}
            done="It is no longer shown; “Put off” brings it back."
            changes={REPAIRED}
            onDone={onClose}
            call={(via) =>
              api.POST("/api/muted-repairs/", {
                body: { key: repair.key, until: days === null ? null : inDays(days) },
                ...via,
              })
            }
          />
        ))}
      </Group>
    </Modal>
  );
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 24 * 3600 * 1000).toISOString();
}
