import { Group, MultiSelect, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Panel } from "../components/Panel";
import { LIST } from "../table/rows";

export type CustomRole = components["schemas"]["CustomRole"];
type Organisation = components["schemas"]["Organisation"];

const CUSTOM_ROLES = ["custom-roles"] as const;
const CHANGES = [CUSTOM_ROLES, ["grants"], ["session"]];

export const customRolesQuery = queryOptions({
  queryKey: CUSTOM_ROLES,
  queryFn: async ({ signal }) =>
    (await api.GET("/api/custom-roles/", { params: { query: { page_size: 200 } }, signal })).data,
  ...LIST,
});

const actionsQuery = queryOptions({
  queryKey: ["custom-role-actions"],
  queryFn: async ({ signal }) => (await api.GET("/api/custom-roles/actions/", { signal })).data,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Roles of an organisation's own: named sets of what people may do. */
export function CustomRoles({ organisations }: { organisations: readonly Organisation[] }) {
  const roles = useQuery(customRolesQuery).data?.results ?? [];
  return (
    <Panel title="Roles of your own">
      <Stack gap="md">
        <Text size="sm" maw={620}>
          Who has such a role sees everything in the project, and may do what the role names. Nobody makes or gives one
          that lets people do more than they may themselves.
        </Text>
        {roles.map((role) => (
          <Line key={`${role.id} ${role.name} ${role.actions.join(" ")}`} role={role} />
        ))}
        <NewRole organisations={organisations} />
      </Stack>
    </Panel>
  );
}

function Line({ role }: { role: CustomRole }) {
  const [name, setName] = useState(role.name);
  const [actions, setActions] = useState(role.actions);
  const isSame = name === role.name && actions.toSorted().join(" ") === role.actions.toSorted().join(" ");
  const path = { id: role.id };
  return (
    <Group align="flex-end" gap="sm">
      <TextInput
        label={`Role of ${role.organisation_name}`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Permitted label={`What ${role.name} may do`} value={actions} onChange={setActions} />
      <Action
        action="accounts.change_custom_role"
        label="Change"
        blocked={isSame ? "Change its name or what it may do first." : undefined}
        done="Whoever has the role may do so from now on."
        changes={CHANGES}
        call={(via) => api.PATCH("/api/custom-roles/{id}/", { params: { path }, body: { name, actions }, ...via })}
      />
      <Action
        action="accounts.remove_custom_role"
        label="Remove"
        danger
        confirm={`Nobody can be given ${role.name} any more.`}
        changes={CHANGES}
        call={(via) => api.DELETE("/api/custom-roles/{id}/", { params: { path }, ...via })}
      />
    </Group>
  );
}

function NewRole({ organisations }: { organisations: readonly Organisation[] }) {
  const form = useForm({ initialValues: { organisation: "", name: "", actions: [] as string[] } });
  const { name, actions } = form.values;
  const chosen = form.values.organisation || String(organisations[0]?.id ?? "");
  return (
    <Group align="flex-end" gap="sm">
      {organisations.length > 1 && (
        <Select
          label="Its organisation"
          data={organisations.map((one) => ({ value: String(one.id), label: one.name }))}
          allowDeselect={false}
          {...form.getInputProps("organisation")}
          value={chosen}
        />
      )}
      <TextInput label="Name of a new role" placeholder="caretaker" {...form.getInputProps("name")} />
      <Permitted label="What it may do" value={actions} onChange={(chosen) => form.setFieldValue("actions", chosen)} />
      <Action
        action="accounts.create_custom_role"
        label="Make a role"
        blocked={
          name.trim() === "" ? "Give it a name first." : actions.length === 0 ? "Choose what it may do." : undefined
        }
        changes={CHANGES}
        onDone={() => form.reset()}
        call={(via) =>
          api.POST("/api/custom-roles/", {
            body: { organisation: Number(chosen), name: name.trim(), actions },
            ...via,
          })
        }
      />
    </Group>
  );
}

interface PermittedProps {
  readonly label: string;
  readonly value: string[];
  readonly onChange: (actions: string[]) => void;
}

function Permitted(props: PermittedProps) {
  const known = useQuery(actionsQuery).data ?? [];
  return (
    <MultiSelect
      {...props}
      data={known.map(({ action, title }) => ({ value: action, label: title }))}
      searchable
      maxDropdownHeight={320}
      miw={320}
      maw={620}
    />
  );
}
