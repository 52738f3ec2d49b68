import { Select, SimpleGrid, Stack, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { ChangeDialog } from "../components/ChangeDialog";
import { Form } from "../components/Form";
import { t } from "../language/t";
import { CHANNELS, type Channel, type ChannelKind } from "./queries";
import { CHANNEL_KINDS, WHERE_FROM } from "./words";

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ZONES = [...new Set(["UTC", HERE, ...Intl.supportedValuesOf("timeZone")])];

interface Props {
  /** The one that is changed; without, a new one. */
  readonly channel?: Channel | undefined;
  readonly onDone: () => void;
  readonly onMade: (name: string, secret: string) => void;
}

/** A new channel, or one that is changed; its name and kind stay, and its URL is not shown again. */
export function ChannelForm({ channel, onDone, onMade }: Props) {
  const form = useForm({
    initialValues: {
      name: channel?.name ?? "",
      kind: channel?.kind ?? ("email" as ChannelKind),
      recipients: [...(channel?.recipients ?? [])],
      url: "",
      quiet_from: channel?.quiet_from?.slice(0, 5) ?? "",
      quiet_until: channel?.quiet_until?.slice(0, 5) ?? "",
      time_zone: channel?.time_zone ?? HERE,
    },
  });
  const { name, kind, recipients, url, quiet_from, quiet_until, time_zone } = form.values;
  const mail = kind === "email";
  const terms = {
    ...(mail ? { recipients } : url !== "" && { url }),
    quiet_from: quiet_from === "" ? null : quiet_from,
    quiet_until: quiet_until === "" ? null : quiet_until,
    time_zone,
  };
  const blocked =
    name.trim() === ""
      ? t`Give the channel a name first.`
      : mail && recipients.length === 0
        ? t`Give an address first.`
        : !mail && channel === undefined && !/^https?:\/\/./.test(url)
          ? t`Give the URL, with https:// before it.`
          : (quiet_from === "") !== (quiet_until === "")
            ? t`Quiet hours need a beginning and an end.`
            : undefined;
  const fields = (
    <Form>
      <Stack gap="sm" align="flex-start">
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} w="100%" verticalSpacing="sm">
          <TextInput
            label="Name"
            description="what rules and the log call it"
            placeholder="on call"
            disabled={channel !== undefined}
            {...form.getInputProps("name")}
          />
          <Select
            label="Kind"
            description="how people are told"
            data={[...CHANNEL_KINDS]}
            allowDeselect={false}
            disabled={channel !== undefined}
            {...form.getInputProps("kind")}
          />
          {mail ? (
            <TagsInput
              label="Addresses"
              description="Enter after each; all get one mail"
              placeholder={recipients.length === 0 ? "ada@example.org" : ""}
              {...form.getInputProps("recipients")}
            />
          ) : (
            <TextInput
              label="URL"
              description={channel === undefined ? WHERE_FROM[kind] : "blank: as it is; it is never shown"}
              placeholder={channel === undefined ? "https://…" : channel.place}
              autoComplete="off"
              {...form.getInputProps("url")}
            />
          )}
          <TextInput
            label="Quiet from"
            description="until it ends, notices are held; blank: never"
            type="time"
            {...form.getInputProps("quiet_from")}
          />
          <TextInput
            label="Quiet until"
            description="then one message tells all that was held"
            type="time"
            {...form.getInputProps("quiet_until")}
          />
          <Select
            label="Time zone"
            description="whose clocks count, also in messages"
            data={ZONES}
            searchable
            allowDeselect={false}
            {...form.getInputProps("time_zone")}
          />
        </SimpleGrid>
        {channel === undefined ? (
          <Action
            action="alerts.create_channel"
            label="Make a channel"
            primary
            blocked={blocked}
            done={`${name} is there. Send it a test, and have rules tell it.`}
            changes={[CHANNELS]}
            onDone={(answer) => {
              onMade(name, (answer as { data: { secret: string } }).data.secret);
              form.reset();
            }}
            call={(via) => api.POST("/api/alert-channels/", { body: { name, kind, ...terms }, ...via })}
          />
        ) : (
          <Action
            action="alerts.change_channel"
            label="Keep the changes"
            primary
            blocked={blocked}
            changes={[CHANNELS]}
            onDone={onDone}
            call={(via) =>
              api.PATCH("/api/alert-channels/{id}/", { params: { path: { id: channel.id } }, body: terms, ...via })
            }
          />
        )}
      </Stack>
    </Form>
  );
  return channel === undefined ? (
    fields
  ) : (
    <ChangeDialog title={t`Change ${channel.name}`} changed={form.isDirty()} onClose={onDone}>
      {fields}
    </ChangeDialog>
  );
}
