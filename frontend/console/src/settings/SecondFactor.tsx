import { Alert, Group, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Command } from "../components/Command";
import { Form } from "../components/Form";
import { Panel } from "../components/Panel";
import { QrCode } from "../components/QrCode";
import { t } from "../language/t";
import type { TableSearch } from "../table/search";
import { Passkeys } from "./Passkeys";
import { SECOND_FACTOR } from "./standing";

const secondFactorQuery = queryOptions({
  queryKey: SECOND_FACTOR,
  queryFn: async ({ signal }) => (await api.GET("/api/session/second-factor/", { signal })).data,
});

type Standing = components["schemas"]["SecondFactor"];

interface Begun {
  readonly uri: string;
  readonly key: string;
}

/** One's own second factors: an authenticator app, passkeys, and codes for the day they are lost. */
export function SecondFactor(table: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const [begun, setBegun] = useState<Begun>();
  const [codes, setCodes] = useState<readonly string[]>();
  const asked = useQuery(secondFactorQuery);
  return (
    <Stack gap="lg">
      {codes !== undefined && (
        <Alert variant="light" color="yellow" title="Keep these recovery codes; they are shown once">
          <Text size="sm" mb="xs">
            Each signs you in once, in the place of the app's code or a passkey.
          </Text>
          <Command>{codes.join("\n")}</Command>
        </Alert>
      )}
      <Panel title="Authenticator app">
        <Answer of={asked} height={120}>
          {(standing) => (
            <Stack gap="md" maw={560}>
              <Text size="sm">{howItStands(standing)}</Text>
              {begun === undefined ? (
                <Begin isOn={standing.is_on} onBegun={setBegun} />
              ) : (
                <Confirm
                  begun={begun}
                  onDone={(given) => {
                    setBegun(undefined);
                    setCodes(given);
                  }}
                />
              )}
              {(standing.is_on || standing.passkeys > 0) && begun === undefined && (
                <Keep standing={standing} onCodes={setCodes} />
              )}
            </Stack>
          )}
        </Answer>
      </Panel>
      <Passkeys {...table} onCodes={setCodes} />
    </Stack>
  );
}

function howItStands({ is_on, passkeys, recovery_codes_left }: Standing): string {
  const left = t`You have ${recovery_codes_left} recovery codes left.`;
  if (is_on) {
    return passkeys > 0
      ? t`On: a code of your app or a passkey is asked for whenever you sign in by password. ${left}`
      : t`On: a code of your app is asked for whenever you sign in by password. ${left}`;
  }
  if (passkeys > 0) return t`Off: after your password a passkey is asked for. ${left}`;
  return t`Off: your password alone signs you in. An authenticator app or a passkey makes a stolen password worthless.`;
}

function Begin({ isOn, onBegun }: { isOn: boolean; onBegun: (begun: Begun) => void }) {
  const form = useForm({ initialValues: { password: "" } });
  const { password } = form.values;
  return (
    <Group align="flex-end" gap="sm">
      <PasswordInput
        label="Your password"
        description="blank if you have none yet"
        autoComplete="current-password"
        w={260}
        {...form.getInputProps("password")}
      />
      <Action
        action="accounts.set_second_factor"
        label={isOn ? "Use another app" : "Set it up"}
        primary={!isOn}
        onDone={(answer) => {
          form.reset();
          onBegun((answer as { data: Begun }).data);
        }}
        call={(via) => api.POST("/api/session/second-factor/", { body: { password }, ...via })}
      />
    </Group>
  );
}

function Confirm({ begun, onDone }: { begun: Begun; onDone: (codes: readonly string[]) => void }) {
  const [code, setCode] = useState("");
  return (
    <Form>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">Scan this with an authenticator app, then type the code that it shows.</Text>
        <QrCode text={begun.uri} label="QR code for an authenticator app" />
        <Text size="sm" c="var(--quiet)" style={{ overflowWrap: "anywhere" }}>
          Or type this key into the app: <code>{begun.key}</code>
        </Text>
        <Group align="flex-end" gap="sm">
          <Code value={code} onChange={setCode} description="six digits" />
          <Action
            action="accounts.set_second_factor"
            label="Confirm"
            primary
            blocked={code.trim() === "" ? "Type the app's code first." : undefined}
            done="From now on your app's code is asked for when you sign in."
            changes={[SECOND_FACTOR]}
            onDone={(answer) => onDone((answer as { data: { recovery_codes: string[] } }).data.recovery_codes)}
            call={(via) => api.POST("/api/session/second-factor/confirm/", { body: { code }, ...via })}
          />
        </Group>
      </Stack>
    </Form>
  );
}

function Keep({ standing, onCodes }: { standing: Standing; onCodes: (codes: readonly string[]) => void }) {
  const [code, setCode] = useState("");
  const blocked = code.trim() === "" ? t`Type a code first.` : undefined;
  return (
    <Group align="flex-end" gap="sm">
      <Code value={code} onChange={setCode} description="of the app, or a recovery code" />
      <Action
        action="accounts.set_second_factor"
        label="New recovery codes"
        blocked={blocked}
        changes={[SECOND_FACTOR]}
        onDone={(answer) => {
          setCode("");
          onCodes((answer as { data: { recovery_codes: string[] } }).data.recovery_codes);
        }}
        call={(via) => api.POST("/api/session/second-factor/recovery-codes/", { body: { code }, ...via })}
      />
      {standing.is_on && (
        <Action
          action="accounts.set_second_factor"
          label="Take it away"
          danger
          blocked={standing.is_required && standing.passkeys === 0 ? "Your role needs a second factor." : blocked}
          confirm={
            standing.passkeys > 0
              ? "After your password a passkey is asked for then."
              : "Your password alone signs you in then."
          }
          changes={[SECOND_FACTOR]}
          onDone={() => setCode("")}
          call={(via) => api.POST("/api/session/second-factor/remove/", { body: { code }, ...via })}
        />
      )}
    </Group>
  );
}

function Code(props: { value: string; onChange: (value: string) => void; description: string }) {
  const { value, onChange, description } = props;
  return (
    <TextInput
      label="Code"
      description={description}
      autoComplete="one-time-code"
      w={220}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
