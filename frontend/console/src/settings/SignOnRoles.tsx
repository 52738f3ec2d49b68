import { Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Panel } from "../components/Panel";
import { LIST } from "../table/rows";
import { SmallTable } from "../table/SmallTable";
import { givenRole, NO_CHOICE, RoleFields, roleAsked, unchosen } from "./RoleFields";

type Project = components["schemas"]["Project"];
type SignOnRole = components["schemas"]["SignOnRole"];
/** Where a role is given: in one of the two. */
export type Placed = Pick<SignOnRole, "project" | "organisation">;

const SIGN_ON_ROLES = ["sign-on-roles"] as const;

const signOnRolesQuery = queryOptions({
  queryKey: SIGN_ON_ROLES,
  queryFn: async ({ signal }) =>
    (await api.GET("/api/sign-on-roles/", { params: { query: { page_size: 200 } }, signal })).data,
  ...LIST,
});

interface Props {
  readonly projects: readonly Project[];
  readonly placeOf: (given: Placed) => string;
}

/** Which groups of the OpenID Connect provider give which role where. */
export function SignOnRoles({ projects, placeOf }: Props) {
  const given = useQuery(signOnRolesQuery).data?.results ?? [];
  const columns = [
    { header: "Group", cell: (one: SignOnRole) => one.claim_value },
    { header: "Role", cell: givenRole },
    { header: "Project", cell: placeOf },
    { header: "Actions", align: "end" as const, cell: (one: SignOnRole) => <Remove given={one} /> },
  ];
  return (
    <Panel title="Roles by single sign-on">
      <Stack gap="md">
        <Text size="sm" maw={620}>
          Whoever the provider says is in a group has its role from the next sign-in on, and loses it at the first one
          without the group. The provider is set by <Code>COTERIE_OIDC_ISSUER</Code>.
        </Text>
        {given.length > 0 && (
          <SmallTable
            label="Roles by single sign-on"
            columns={columns}
            rows={given}
            rowKey={({ id }) => String(id)}
            minWidth={420}
          />
        )}
        <NewSignOnRole projects={projects} />
      </Stack>
    </Panel>
  );
}

function Remove({ given }: { given: SignOnRole }) {
  return (
    <Actions>
      <Action
        action="accounts.unmap_claim"
        label="Remove"
        danger
        confirm={`Who is ${givenRole(given)} by ${given.claim_value} is so until they sign in again.`}
        changes={[SIGN_ON_ROLES]}
        call={(via) => api.DELETE("/api/sign-on-roles/{id}/", { params: { path: { id: given.id } }, ...via })}
      />
    </Actions>
  );
}

function NewSignOnRole({ projects }: { projects: readonly Project[] }) {
  const form = useForm({ initialValues: { value: "", choice: NO_CHOICE } });
  const { value, choice } = form.values;
  return (
    <Group align="flex-end" gap="sm">
      <TextInput label="Group of the provider" placeholder="ward-staff" {...form.getInputProps("value")} />
      <RoleFields projects={projects} value={choice} onChange={(chosen) => form.setFieldValue("choice", chosen)} />
      <Action
        action="accounts.map_claim"
        label="Let it give the role"
        blocked={value.trim() === "" ? "Name the group first." : unchosen(choice)}
        changes={[SIGN_ON_ROLES]}
        onDone={() => form.reset()}
        call={(via) =>
          api.POST("/api/sign-on-roles/", { body: { claim_value: value.trim(), ...roleAsked(choice) }, ...via })
        }
      />
    </Group>
  );
}
