import { Button, TagsInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Archive } from "../components/Archive";
import { Describe } from "../components/Describe";
import { t } from "../language/t";
import { DEVICES, type Device } from "./queries";

/** What can be done to one device. */
export function DeviceActions({ device }: { device: Device }) {
  const path = { id: device.id };
  const gone = goneFor(device);
  const changes = [DEVICES];
  const renews = (device.capabilities as { readonly renews?: boolean } | undefined)?.renews === true;
  return (
    <>
      {device.paused_at === null ? (
        <Action
          action="fleet.pause_device"
          label="Pause"
          blocked={gone}
          done={`${device.name} rests from now on.`}
          changes={changes}
          call={(via) => api.POST("/api/devices/{id}/pause/", { params: { path }, ...via })}
        />
      ) : (
        <Action
          action="fleet.resume_device"
          label={device.quarantine === "" ? "Resume" : "Release"}
          primary
          confirm={
            device.quarantine === ""
              ? undefined
              : `Rounds ask ${device.name} again, and what it sent before no longer counts against it.`
          }
          blocked={gone}
          changes={changes}
          call={(via) => api.POST("/api/devices/{id}/resume/", { params: { path }, ...via })}
        />
      )}
      {device.pinned_version === "" ? (
        <Action
          action="fleet.pin_device"
          label="Pin to its version"
          blocked={gone ?? (device.held_version === "" ? t`It holds no version yet.` : undefined)}
          confirm="It keeps the version that it holds now and takes no part in rounds, until it is let go."
          changes={changes}
          call={(via) =>
            api.POST("/api/devices/{id}/pin/", { params: { path }, body: { version: device.held_version }, ...via })
          }
        />
      ) : (
        <Action
          action="fleet.pin_device"
          label="Let it follow again"
          blocked={gone}
          changes={changes}
          call={(via) => api.POST("/api/devices/{id}/pin/", { params: { path }, body: { version: null }, ...via })}
        />
      )}
      <Edit key={device.tags.join(" ")} device={device} />
      <Action
        action="fleet.renew_credential"
        label="Renew its credential"
        blocked={gone ?? (renews ? undefined : t`Its agent cannot: update it, or have it join again.`)}
        confirm="It takes another credential when it checks in next, and need not be enrolled again. The present one ends a day later."
        done={`${device.name} renews its credential when it checks in next.`}
        changes={changes}
        call={(via) =>
          api.POST("/api/devices/{id}/renew-credential/", { params: { path }, body: { leaked: false }, ...via })
        }
      />
      <Button component="a" size="sm" variant="default" href={`/api/devices/${device.id}/export/`} download>
        Export what is known
      </Button>
      {gone === undefined ? (
        <Action
          action="fleet.revoke_device"
          label="Revoke"
          danger
          confirm={`${device.name} loses its credential at once and must be enrolled again to come back.`}
          done={`${device.name} is revoked.`}
          changes={changes}
          call={(via) => api.POST("/api/devices/{id}/revoke/", { params: { path }, ...via })}
        />
      ) : (
        <Archive
          app="fleet"
          kind="device"
          archivedAt={device.archived_at}
          changes={changes}
          archive={(via) => api.POST("/api/devices/{id}/archive/", { params: { path }, ...via })}
          restore={(via) => api.POST("/api/devices/{id}/restore/", { params: { path }, ...via })}
        />
      )}
    </>
  );
}

/** Why nothing more can be asked of it; undefined: it is in the fleet. */
function goneFor({ name, state }: Device): string | undefined {
  if (state === "enrolled") return undefined;
  return state === "left" ? t`${name} left the fleet.` : t`${name} is revoked.`;
}

/** Its name, its tags and the notes about it. */
function Edit({ device }: { device: Device }) {
  const [tags, setTags] = useState<string[]>([...device.tags]);
  return (
    <Describe
      action="fleet.change_device"
      name={device.name}
      notes={device.notes ?? ""}
      changes={[DEVICES]}
      call={(described, via) =>
        api.PATCH("/api/devices/{id}/", {
          params: { path: { id: device.id } },
          body: { ...described, tags },
          ...via,
        })
      }
    >
      <TagsInput
        label="Tags"
        description="federations pick their devices by tag; press Enter after each"
        value={tags}
        onChange={setTags}
      />
    </Describe>
  );
}
