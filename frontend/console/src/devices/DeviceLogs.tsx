import { Anchor, Drawer, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { useFocusBack } from "../components/focus";
import { LogLines } from "../components/LogLines";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type DeviceLog, deviceLogLinesQuery, deviceLogsQuery, HOURS, hoursOf, isOpen, sendsLogQuery } from "./logs";
import { DEVICES, type Device } from "./queries";

const LONGEST_WHY = 200;

interface Props {
  readonly device: Device;
  /** The request whose lines are looked at. */
  readonly shown: string | undefined;
  readonly onShow: (log: string | undefined) => void;
}

/** The log of the device's agent: asked for here, allowed or refused by its owner. */
export function DeviceLogs({ device, shown, onShow }: Props) {
  const answer = useQuery(deviceLogsQuery(device.id));
  const { data: sends } = useQuery(sendsLogQuery(device.id));
  const logs = answer.data?.results ?? [];
  const open = logs.find(isOpen);
  const looked = logs.find(({ id }) => id === shown);
  const cannot = sends === undefined || sends.reason_code === "" ? undefined : sends.reason_sentence;
  return (
    <Panel
      title="Its log"
      tools={
        open === undefined ? (
          <Ask device={device} blocked={cannot} />
        ) : (
          <Action
            action="device_logs.cancel_log"
            label="Ask no longer"
            changes={[DEVICES]}
            call={(via) => api.POST("/api/device-logs/{id}/cancel/", { params: { path: { id: open.id } }, ...via })}
          />
        )
      }
    >
      <Answer of={answer} height={60}>
        {({ results }) =>
          results.length === 0 ? (
            <Text size="sm" c="var(--quiet)">
              {cannot === undefined
                ? t`Nobody has asked for it. Its owner decides, and reads what it is wanted for; secrets and samples are taken out on the device.`
                : t`It sends none: ${cannot}.`}
            </Text>
          ) : (
            <SmallTable
              label="Requests for its log"
              columns={columns(onShow)}
              rows={results}
              rowKey={({ id }) => id}
              minWidth={560}
            />
          )
        }
      </Answer>
      {looked !== undefined && <Looked log={looked} onClose={() => onShow(undefined)} />}
    </Panel>
  );
}

function columns(onShow: (log: string) => void): readonly SmallColumn<DeviceLog>[] {
  return [
    {
      header: "What",
      cell: (log) =>
        log.state === "delivered" ? (
          <Anchor component="button" type="button" size="sm" onClick={() => onShow(log.id)}>
            {hoursOf(log.hours)}
          </Anchor>
        ) : (
          hoursOf(log.hours)
        ),
    },
    { header: "Asked", cell: (log) => <When at={log.created_at} /> },
    { header: "State", cell: (log) => <State of={log.state} /> },
    { header: "Why", cell: (log) => <Reason sentence={log.reason_sentence} code={log.reason_code} /> },
  ];
}

function Ask({ device, blocked }: { device: Device; blocked: string | undefined }) {
  const [hours, choose] = useState("24");
  const [why, say] = useState("");
  return (
    <Action
      action="device_logs.ask_for_log"
      label="Ask for its log"
      confirmLabel="Ask for it"
      blocked={blocked}
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            The owner of {device.name} allows or refuses it. What comes is kept for thirty days, and everybody here who
            sees the device can read it.
          </Text>
          <Select
            label="How much"
            data-autofocus
            allowDeselect={false}
            data={[...HOURS]}
            value={hours}
            onChange={(value) => choose(value ?? "24")}
          />
          <TextInput
            label="What for"
            description="the device's owner reads it"
            maxLength={LONGEST_WHY}
            value={why}
            onChange={(event) => say(event.currentTarget.value)}
          />
        </Stack>
      }
      done={t`${device.name} is asked for its log.`}
      changes={[DEVICES]}
      onDone={() => say("")}
      call={(via) =>
        api.POST("/api/device-logs/", { body: { device: device.id, hours: Number(hours), why: why.trim() }, ...via })
      }
    />
  );
}

function Looked({ log, onClose }: { log: DeviceLog; onClose: () => void }) {
  useFocusBack();
  const answer = useQuery(deviceLogLinesQuery(log.id));
  const { device_name: name, line_count, left_out } = log;
  return (
    <Drawer opened onClose={onClose} title={t`Log of ${name}, ${hoursOf(log.hours)}`} position="right" size="xl">
      <Stack gap="md">
        <Group gap="sm">
          <State of={log.state} />
          <Text size="sm" c="var(--quiet)">
            came <When at={log.ended_at} />, is removed <When at={log.keep_until} />
          </Text>
        </Group>
        {log.why !== "" && <Text size="sm">{t`Wanted for: ${log.why ?? ""}`}</Text>}
        {left_out > 0 && (
          <Text size="sm" c="var(--quiet)">
            {t`These are the newest ${counted(line_count)}; ${counted(left_out)} older lines are more than a delivery holds.`}
          </Text>
        )}
        <Answer of={answer} height={200}>
          {(lines) => (
            <LogLines
              title={t`Log of ${name}`}
              lines={lines}
              none={
                line_count === 0 ? t`Nothing was logged in that time.` : t`The lines were removed: their time is over.`
              }
            />
          )}
        </Answer>
      </Stack>
    </Drawer>
  );
}
