import { PasswordInput, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Panel } from "../components/Panel";
import { t } from "../language/t";

/** One's own password: another, or the first after an invitation. */
export function Password() {
  const form = useForm({ initialValues: { current: "", new: "", repeated: "" } });
  const { current, new: wanted, repeated } = form.values;
  const blocked =
    wanted === ""
      ? t`Type the new password first.`
      : wanted !== repeated
        ? t`The new password is not the same both times.`
        : undefined;
  return (
    <Panel asks title="Your password">
      <Stack gap="sm" maw={420} align="stretch">
        <PasswordInput
          label="The one you have"
          description="leave it blank if you came by a sign-in link"
          autoComplete="current-password"
          {...form.getInputProps("current")}
        />
        <PasswordInput label="The new one" autoComplete="new-password" {...form.getInputProps("new")} />
        <PasswordInput label="The new one again" autoComplete="new-password" {...form.getInputProps("repeated")} />
        <Action
          action="accounts.change_password"
          label="Change it"
          primary
          blocked={blocked}
          done="From now on you sign in with it. Your other sessions have ended."
          onDone={form.reset}
          call={(via) => api.POST("/api/session/password/", { body: { current, new: wanted }, ...via })}
        />
        <Text size="sm" c="var(--quiet)">
          API tokens stay as they are.
        </Text>
      </Stack>
    </Panel>
  );
}
