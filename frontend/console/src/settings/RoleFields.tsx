import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { components } from "../api/schema";
import { t } from "../language/t";
import { ROLES, type Role, roleWord } from "../session/roles";
import { customRolesQuery } from "./CustomRoles";

type Project = components["schemas"]["Project"];

/** A role in a project, as the fields below have it. */
export interface RoleChoice {
  /** A built-in role, or the key of a custom one behind `CUSTOM`. */
  readonly role: string;
  /** The project's key; `""`: none is chosen. */
  readonly project: string;
}

export const NO_CHOICE: RoleChoice = { role: "viewer", project: "" };
const CUSTOM = "custom:";

interface Props {
  readonly projects: readonly Project[];
  readonly value: RoleChoice;
  readonly onChange: (choice: RoleChoice) => void;
}

/** Which role, built-in or of the project's organisation, in which project. */
export function RoleFields({ projects, value, onChange }: Props) {
  const custom = useQuery(customRolesQuery).data?.results ?? [];
  const organisation = projects.find(({ id }) => String(id) === value.project)?.organisation;
  const ours = custom.filter((one) => organisation === undefined || one.organisation === organisation);
  return (
    <>
      <Select
        label="Role"
        data={[...ROLES, ...ours.map(({ id, name }) => ({ value: `${CUSTOM}${id}`, label: name }))]}
        allowDeselect={false}
        w={330}
        value={value.role}
        onChange={(role) => role !== null && onChange({ ...value, role })}
      />
      <Select
        label="Project"
        data={projects.map((one) => ({ value: String(one.id), label: `${one.organisation_name} / ${one.name}` }))}
        value={value.project || null}
        onChange={(project) => onChange({ ...value, project: project ?? "" })}
      />
    </>
  );
}

/** What is chosen as the platform takes it. */
export function roleAsked({ role, project }: RoleChoice) {
  const given = role.startsWith(CUSTOM) ? { custom_role: Number(role.slice(CUSTOM.length)) } : { role: role as Role };
  return { ...given, project: Number(project) };
}

/** What is to be chosen still; undefined: nothing. */
export function unchosen({ project }: RoleChoice): string | undefined {
  return project === "" ? t`Choose a project first.` : undefined;
}

/** What people call a role that is given. */
export function givenRole(given: { readonly role: Role; readonly custom_role_name: string }): string {
  return given.custom_role_name || roleWord(given.role);
}
