import { Alert, Badge, Group, Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Command } from "../components/Command";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { When } from "../components/When";
import { t } from "../language/t";
import { ROLES_OR_NONE, type RoleOrNone, roleWord } from "../session/roles";
import { useMay, useOperator } from "../session/session";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";

type Person = components["schemas"]["Operator"];

export const PEOPLE = ["operators"] as const;
/** Where one chooses a password. */
const PASSWORD = "/settings?tab=password";

export function peopleQuery(search: TableSearch) {
  return queryOptions({
    queryKey: [...PEOPLE, search],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/operators/", { params: { query: asked(search) }, signal })).data,
    ...LIST,
  });
}

/** Who may sign in, and as what. */
export function People({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const rows = useQuery(peopleQuery(search));
  const [link, setLink] = useState<{ name: string; path: string }>();
  const columns: readonly Column<Person>[] = [
    { id: "name", header: "Name", sort: "username", cell: (person) => <Name person={person} /> },
    { id: "role", header: "Role", sort: "role", cell: (person) => <RoleOf person={person} /> },
    {
      id: "state",
      header: "State",
      cell: (person) => <State of={person.is_active === false ? t`shut out` : "ready"} />,
    },
    { id: "last", header: "Last signed in", sort: "last_login", cell: (person) => <When at={person.last_login} /> },
    {
      id: "actions",
      header: "Actions",
      headless: true,
      align: "end",
      cell: (person) => <Handles person={person} onLink={(path) => setLink({ name: person.username, path })} />,
    },
  ];
  return (
    <Stack gap="lg">
      <Invite onLink={(name, path) => setLink({ name, path })} />
      {link !== undefined && (
        <Alert
          variant="light"
          color="teal"
          title={`Send ${link.name} this link. It works once, within a day, and leads to where one chooses a password.`}
        >
          <Command>{`${window.location.origin}${link.path}?next=${encodeURIComponent(PASSWORD)}`}</Command>
        </Alert>
      )}
      <DataTable
        label="People"
        columns={columns}
        rows={rows}
        rowKey={(person) => String(person.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        tools={<ExportCsv path="/api/operators/" query={asked(search)} />}
        searchable="Name or e-mail"
        empty={<Empty title="Nobody">No person fits the search.</Empty>}
      />
    </Stack>
  );
}

function Name({ person }: { person: Person }) {
  const me = useOperator();
  return (
    <Group gap="xs">
      {person.username}
      {me?.id === person.id && (
        <Badge size="xs" variant="light" color="gray">
          you
        </Badge>
      )}
    </Group>
  );
}

function RoleOf({ person }: { person: Person }) {
  const may = useMay("accounts.change_operator");
  const [role, setRole] = useState<RoleOrNone>(person.role);
  if (!may.allowed) return person.role === "" ? t`in projects` : roleWord(person.role);
  return (
    <Group gap="xs" wrap="nowrap">
      <Select
        aria-label={`Role of ${person.username}`}
        size="xs"
        data={ROLES_OR_NONE.map(({ value }) => ({ value, label: roleWord(value) }))}
        value={role}
        allowDeselect={false}
        onChange={(value) => setRole(value as RoleOrNone)}
        w={140}
      />
      {role !== person.role && (
        <Action
          action="accounts.change_operator"
          label="Change"
          primary
          done={
            role === "" ? `${person.username} is of projects only now.` : `${person.username} is ${roleWord(role)} now.`
          }
          changes={[PEOPLE, ["session"]]}
          call={(via) =>
            api.PATCH("/api/operators/{id}/", { params: { path: { id: person.id } }, body: { role }, ...via })
          }
        />
      )}
    </Group>
  );
}

function Handles({ person, onLink }: { person: Person; onLink: (path: string) => void }) {
  const path = { id: person.id };
  const shut = person.is_active === false;
  return (
    <Actions>
      <Action
        action="accounts.issue_sign_in_link"
        label="Sign-in link"
        onDone={(answer) => onLink((answer as { data: { sign_in_path: string } }).data.sign_in_path)}
        call={(via) => api.POST("/api/operators/{id}/sign-in-link/", { params: { path }, ...via })}
      />
      {person.has_second_factor && (
        <Action
          action="accounts.reset_second_factor"
          label="Reset second factor"
          danger
          confirm={`${person.username} signs in by password alone until another is set up: make sure that it is them who ask.`}
          changes={[PEOPLE]}
          call={(via) => api.POST("/api/operators/{id}/reset-second-factor/", { params: { path }, ...via })}
        />
      )}
      <Action
        action="accounts.change_operator"
        label={shut ? "Let in again" : "Shut out"}
        danger={!shut}
        confirm={shut ? undefined : `${person.username} is signed out at once, and so are all API tokens of that name.`}
        changes={[PEOPLE]}
        call={(via) => api.PATCH("/api/operators/{id}/", { params: { path }, body: { is_active: shut }, ...via })}
      />
    </Actions>
  );
}

function Invite({ onLink }: { onLink: (name: string, path: string) => void }) {
  const form = useForm({ initialValues: { username: "", email: "", role: "viewer" as RoleOrNone } });
  const { username, email, role } = form.values;
  return (
    <Panel asks title="Let a person in">
      <Group align="flex-end" gap="sm">
        <TextInput label="Name" {...form.getInputProps("username")} />
        <TextInput label="E-mail" type="email" {...form.getInputProps("email")} />
        <Select label="Role" data={ROLES_OR_NONE} allowDeselect={false} w={330} {...form.getInputProps("role")} />
        <Action
          action="accounts.create_operator"
          label="Invite"
          primary
          blocked={username.trim() === "" ? "Give the person a name first." : undefined}
          changes={[PEOPLE]}
          onDone={(answer) => {
            onLink(username, (answer as { data: { sign_in_path: string } }).data.sign_in_path);
            form.reset();
          }}
          call={(via) => api.POST("/api/operators/", { body: { username, email, role }, ...via })}
        />
      </Group>
    </Panel>
  );
}
