import { Group, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { makePasskey, signByPasskey } from "./passkeys";
import { SECOND_FACTOR } from "./standing";

type Passkey = components["schemas"]["Passkey"];
type Added = components["schemas"]["NewPasskey"];

const PASSKEYS = ["passkeys"] as const;
const CHANGES = [PASSKEYS, SECOND_FACTOR];

function passkeysQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...PASSKEYS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/session/passkeys/", { params: { query }, signal })).data,
    ...LIST,
  });
}

interface Props {
  readonly search: TableSearch;
  readonly onSearch: (change: TableSearch) => void;
  /** With the first second factor come recovery codes. */
  readonly onCodes: (codes: readonly string[]) => void;
}

/** One's own passkeys. */
export function Passkeys({ search, onSearch, onCodes }: Props) {
  return (
    <Panel title="Passkeys">
      <Stack gap="md">
        <Text size="sm" maw={560}>
          A passkey is a key on a device of yours, which asks for your finger, face or PIN. It signs you in without a
          password, or stands for the app's code after one.
        </Text>
        <NewPasskey onCodes={onCodes} />
        <DataTable
          label="Passkeys"
          columns={COLUMNS}
          rows={useQuery(passkeysQuery(search))}
          rowKey={(passkey) => String(passkey.id)}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={onSearch}
          empty={<Empty title="No passkey yet">Register one above.</Empty>}
        />
      </Stack>
    </Panel>
  );
}

const COLUMNS: readonly Column<Passkey>[] = [
  { id: "name", header: "Passkey", sort: "name", cell: (passkey) => passkey.name },
  { id: "created", header: "Registered", sort: "created_at", cell: (passkey) => <When at={passkey.created_at} /> },
  { id: "used", header: "Last used", sort: "last_used_at", cell: (passkey) => <When at={passkey.last_used_at} /> },
  { id: "actions", header: "Actions", headless: true, align: "end", cell: (passkey) => <Remove passkey={passkey} /> },
];

function NewPasskey({ onCodes }: Pick<Props, "onCodes">) {
  const form = useForm({ initialValues: { name: "", password: "" } });
  const { name, password } = form.values;
  return (
    <Group align="flex-end" gap="sm">
      <TextInput label="Name of the passkey" placeholder="laptop" w={200} {...form.getInputProps("name")} />
      <PasswordInput
        label="Password"
        description="blank if you have none yet"
        autoComplete="current-password"
        w={260}
        {...form.getInputProps("password")}
      />
      <Action
        action="accounts.add_passkey"
        label="Register a passkey"
        blocked={name.trim() === "" ? "Give the passkey a name first." : undefined}
        done="From now on it signs you in."
        changes={CHANGES}
        onDone={(answer) => {
          const codes = (answer as { data: Added }).data.recovery_codes;
          if (codes.length > 0) onCodes(codes);
          form.reset();
        }}
        call={async (via) => {
          const begun = await api.POST("/api/session/passkeys/begin/", { body: { password }, ...via });
          if (via.fetch !== undefined) return begun; // no command does what a browser does next
          const answer = await makePasskey(begun.data?.public_key ?? {});
          return api.POST("/api/session/passkeys/", { body: { name: name.trim(), answer } });
        }}
      />
    </Group>
  );
}

function Remove({ passkey }: { passkey: Passkey }) {
  const [code, setCode] = useState("");
  return (
    <Actions>
      <Action
        action="accounts.remove_passkey"
        label="Remove"
        danger
        confirm={
          <Stack gap="sm">
            {`${passkey.name} signs you in no more.`}
            <TextInput
              label="Code"
              description="of the app, or a recovery code; leave it blank to use a passkey"
              autoComplete="one-time-code"
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
            />
          </Stack>
        }
        done="It is removed."
        changes={CHANGES}
        call={async (via) => {
          const params = { path: { id: passkey.id } };
          const isByCode = code.trim() !== "" || via.fetch !== undefined;
          const body = isByCode ? { code } : { code: "", answer: await proof() };
          return api.POST("/api/session/passkeys/{id}/remove/", { params, body, ...via });
        }}
      />
    </Actions>
  );
}

/** That it is oneself. */
async function proof() {
  const asked = await api.POST("/api/session/passkeys/ask/");
  return signByPasskey(asked.data?.public_key ?? {});
}
