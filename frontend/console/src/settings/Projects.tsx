import { Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { Form } from "../components/Form";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { t } from "../language/t";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, LIST, PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { CustomRoles } from "./CustomRoles";
import { givenRole, NO_CHOICE, RoleFields, roleAsked, unchosen } from "./RoleFields";
import { type Placed, SignOnRoles } from "./SignOnRoles";

type Project = components["schemas"]["Project"];
type Grant = components["schemas"]["Grant"];

const PROJECTS = ["projects"] as const;
const ORGANISATIONS = ["organisations"] as const;
const GRANTS = ["grants"] as const;
const SESSION = ["session"] as const;
const ALL = { page_size: 200 };

const projectsQuery = queryOptions({
  queryKey: PROJECTS,
  queryFn: async ({ signal }) => (await api.GET("/api/projects/", { params: { query: ALL }, signal })).data,
  ...LIST,
});

const organisationsQuery = queryOptions({
  queryKey: ORGANISATIONS,
  queryFn: async ({ signal }) => (await api.GET("/api/organisations/", { params: { query: ALL }, signal })).data,
  ...LIST,
});

function grantsQuery(search: TableSearch) {
  return queryOptions({
    queryKey: [...GRANTS, search],
    queryFn: async ({ signal }) => (await api.GET("/api/grants/", { params: { query: asked(search) }, signal })).data,
    ...LIST,
  });
}

/** What is kept apart, and who has which role where. */
export function Projects({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const projects = useQuery(projectsQuery);
  const organisations = useQuery(organisationsQuery);
  const rows = useQuery(grantsQuery(search));
  const placeOf = (given: Placed) => {
    const project = projects.data?.results.find(({ id }) => id === given.project);
    if (project !== undefined) return t`${project.name}, of ${project.organisation_name}`;
    const organisation = organisations.data?.results.find(({ id }) => id === given.organisation);
    return organisation === undefined ? "–" : t`all of ${organisation.name}`;
  };
  const columns: readonly Column<Grant>[] = [
    { id: "person", header: "Person", sort: "username", cell: (grant) => grant.username },
    { id: "role", header: "Role", sort: "role", cell: (grant) => <GivenRole grant={grant} /> },
    { id: "project", header: "Project", cell: placeOf },
    { id: "given", header: "Given", sort: "given_at", cell: (grant) => <When at={grant.given_at} /> },
    {
      id: "actions",
      header: "Actions",
      headless: true,
      align: "end",
      cell: (grant) => (
        <Actions>
          <Action
            action="accounts.take_role"
            label="Take away"
            danger
            confirm={`${grant.username} is no longer ${givenRole(grant)} there.`}
            changes={[GRANTS, SESSION]}
            call={(via) => api.DELETE("/api/grants/{id}/", { params: { path: { id: grant.id } }, ...via })}
          />
        </Actions>
      ),
    },
  ];
  return (
    <Stack gap="lg">
      <Panel title="Projects">
        <Stack gap="sm">
          {(projects.data?.results ?? []).map((project) => (
            <Line key={project.id} project={project} />
          ))}
          <NewProject />
        </Stack>
      </Panel>
      <CustomRoles organisations={organisations.data?.results ?? []} />
      <SignOnRoles projects={projects.data?.results ?? []} placeOf={placeOf} />
      <GiveRole projects={projects.data?.results ?? []} />
      <DataTable
        label="Roles in projects"
        columns={columns}
        rows={rows}
        rowKey={(grant) => String(grant.id)}
        pageSize={PAGE_SIZE}
        search={search}
        onSearch={onSearch}
        tools={<ExportCsv path="/api/grants/" query={asked(search)} />}
        searchable="Name of the person"
        empty={
          <Empty title="No roles in projects">
            People have the role that the whole installation gives them. Give somebody another one above.
          </Empty>
        }
      />
    </Stack>
  );
}

function GivenRole({ grant }: { grant: Grant }) {
  return (
    <>
      {givenRole(grant)}
      {grant.by_sign_on && (
        <Text component="span" size="sm" c="var(--quiet)">
          {" "}
          by single sign-on
        </Text>
      )}
    </>
  );
}

function Line({ project }: { project: Project }) {
  const form = useForm({ initialValues: { name: project.name } });
  const path = { id: project.id };
  return (
    <Group gap="sm" align="flex-end">
      <TextInput label={`Project of ${project.organisation_name}`} {...form.getInputProps("name")} />
      <Action
        action="accounts.change_project"
        label="Rename"
        blocked={form.isDirty() ? undefined : "Write another name first."}
        changes={[PROJECTS, SESSION]}
        call={(via) => api.PATCH("/api/projects/{id}/", { params: { path }, body: { name: form.values.name }, ...via })}
      />
      <Action
        action="accounts.change_project"
        label="Archive"
        danger
        confirm={`Nobody acts in ${project.name} until it is taken back, and its API tokens are refused; what runs in it goes on.`}
        changes={[PROJECTS, SESSION]}
        call={(via) => api.PATCH("/api/projects/{id}/", { params: { path }, body: { archived: true }, ...via })}
      />
    </Group>
  );
}

function NewProject() {
  const organisations = useQuery(organisationsQuery);
  const known = organisations.data?.results ?? [];
  const form = useForm({ initialValues: { organisation: "", name: "" } });
  const chosen = form.values.organisation || String(known[0]?.id ?? "");
  return (
    <Form>
      <Group gap="sm" align="flex-end">
        {known.length > 1 && (
          <Select
            label="Organisation"
            data={known.map(({ id, name }) => ({ value: String(id), label: name }))}
            allowDeselect={false}
            {...form.getInputProps("organisation")}
            value={chosen}
          />
        )}
        <TextInput label="Name of a new project" {...form.getInputProps("name")} />
        <Action
          action="accounts.create_project"
          label="Make a project"
          primary
          blocked={form.values.name.trim() === "" ? "Give it a name first." : undefined}
          changes={[PROJECTS, SESSION]}
          onDone={() => form.reset()}
          call={(via) =>
            api.POST("/api/projects/", { body: { organisation: Number(chosen), name: form.values.name }, ...via })
          }
        />
      </Group>
    </Form>
  );
}

function GiveRole({ projects }: { projects: readonly Project[] }) {
  const form = useForm({ initialValues: { username: "", choice: NO_CHOICE } });
  const { username, choice } = form.values;
  return (
    <Panel asks title="Give a role in a project">
      <Group align="flex-end" gap="sm">
        <TextInput label="Name of the person" {...form.getInputProps("username")} />
        <RoleFields projects={projects} value={choice} onChange={(chosen) => form.setFieldValue("choice", chosen)} />
        <Action
          action="accounts.give_role"
          label="Give"
          primary
          blocked={username.trim() === "" ? "Name the person first." : unchosen(choice)}
          changes={[GRANTS, SESSION]}
          onDone={() => form.reset()}
          call={(via) => api.POST("/api/grants/", { body: { username, ...roleAsked(choice) }, ...via })}
        />
      </Group>
    </Panel>
  );
}
