import { Group, TagsInput, Text } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { t } from "../language/t";
import classes from "./BulkActions.module.css";
import { DEVICES } from "./queries";

type Deed = components["schemas"]["DeviceActionRequest"]["action"];

/** One thing done to all chosen devices, or to none of them. */
export function BulkActions({ chosen, onDone }: { chosen: readonly string[]; onDone: () => void }) {
  const [tags, setTags] = useState<string[]>([]);
  const devices = chosen.length === 1 ? t`1 device` : t`${chosen.length} devices`;
  const untyped = tags.length === 0 ? t`Type the tags first, Enter after each.` : undefined;
  const deed = (action: Deed, named: string[] = []) => ({
    changes: [DEVICES],
    onDone,
    call: (via: object) =>
      api.POST("/api/device-actions/", { body: { action, devices: [...chosen], tags: named }, ...via }),
  });
  return (
    <Group className={classes.bar} gap="sm" role="toolbar" aria-label="What to do with the chosen devices">
      <Text size="sm" fw={550}>
        {devices} chosen
      </Text>
      <TagsInput
        size="sm"
        aria-label="Tags"
        placeholder={tags.length === 0 ? "tags" : ""}
        value={tags}
        onChange={setTags}
        miw={140}
      />
      <Action
        action="fleet.change_device"
        label="Add tags"
        blocked={untyped}
        done={`${devices} tagged.`}
        {...deed("add_tags", tags)}
      />
      <Action
        action="fleet.change_device"
        label="Remove tags"
        blocked={untyped}
        done={`Tags of ${devices} removed.`}
        {...deed("remove_tags", tags)}
      />
      <Action action="fleet.pause_device" label="Pause" done={`${devices} paused.`} {...deed("pause")} />
      <Action action="fleet.resume_device" label="Resume" done={`${devices} resumed.`} {...deed("resume")} />
      <Action
        action="fleet.revoke_device"
        label="Revoke"
        danger
        confirm={
          chosen.length === 1
            ? "1 device loses its credential at once and must be enrolled again to come back."
            : `${devices} lose their credentials at once and must be enrolled again to come back.`
        }
        done={`${devices} revoked.`}
        {...deed("revoke")}
      />
    </Group>
  );
}
