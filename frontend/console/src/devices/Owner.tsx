import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { DEVICES, type Device, type Forgetting, forgettingQuery } from "./queries";

/** What the device's owner may ask for: all that is known of it, and that it be forgotten. */
export function Owner({ device }: { device: Device }) {
  const answer = useQuery(forgettingQuery(device.id));
  const path = { id: device.id };
  return (
    <Panel
      title="What its owner may ask for"
      tools={
        <Group gap="sm">
          <Button component="a" size="sm" variant="default" href={`/api/devices/${device.id}/export/`} download>
            Export what is known
          </Button>
          {answer.data?.forgetting === null && (
            <Action
              action="owners.forget_device"
              label="Forget"
              danger
              confirm={`${device.name} loses its credential, its updates go into no round any more, and what is kept of it is removed: its name, what it reported, its files. Versions that learned from it stay, and the receipt names them. This cannot be undone.`}
              confirmLabel="Forget it"
              changes={[DEVICES]}
              call={(via) => api.POST("/api/devices/{id}/forget/", { params: { path }, ...via })}
            />
          )}
        </Group>
      }
    >
      <Answer of={answer} height={60}>
        {({ forgetting }) =>
          forgetting === null ? (
            <Text size="sm" c="var(--quiet)">
              All that is known of it in one document, and that it be forgotten. Nobody has asked for the latter.
            </Text>
          ) : (
            <Receipt forgetting={forgetting} />
          )
        }
      </Answer>
    </Panel>
  );
}

function Receipt({ forgetting }: { forgetting: Forgetting }) {
  const rows = Object.values(forgetting.removed).reduce((sum, count) => sum + count, 0);
  return (
    <Stack gap="sm">
      <Alert
        variant="light"
        color={forgetting.done ? "teal" : "yellow"}
        title={forgetting.done ? "Forgotten" : "Being forgotten"}
      >
        <Text size="sm">
          Asked <When at={forgetting.asked_at} />: {forgetting.sentence}. {counted(forgetting.taken_out)} updates went
          into no merge any more; {counted(rows)} rows were removed. Receipt {forgetting.receipt}.
        </Text>
        <Done at={forgetting.done_at} />
      </Alert>
      {forgetting.rebuilt.map((one) => (
        <div key={one.federation}>
          <Text size="sm">
            {one.federation}: {one.sentence}.
          </Text>
          <Done at={one.done_at} />
        </div>
      ))}
      {forgetting.holds.length > 0 && (
        <SmallTable
          label="Versions known to hold its updates"
          columns={COLUMNS}
          rows={forgetting.holds}
          rowKey={(one) => one.version_id}
          minWidth={320}
        />
      )}
    </Stack>
  );
}

function Done({ at }: { at: string | null }) {
  if (at === null) return null;
  return (
    <Text size="sm">
      Done <When at={at} />.
    </Text>
  );
}

const COLUMNS: readonly SmallColumn<Forgetting["holds"][number]>[] = [
  { header: "Federation", cell: (one) => one.federation },
  { header: "Version that holds an update", align: "end", cell: (one) => counted(one.version) },
  { header: "How it came", cell: (one) => (one.in_sum ? t`in a sum` : t`by itself`) },
  { header: "Made", cell: (one) => <When at={one.at} /> },
];
