import type { components } from "../api/schema";
import { t } from "../language/t";

export type Role = components["schemas"]["Grant"]["role"];
/** `""`: a person who has none in the whole installation. */
export type RoleOrNone = components["schemas"]["Operator"]["role"];

const WORDS: Readonly<Record<RoleOrNone, string>> = {
  viewer: t`viewer`,
  operator: t`operator`,
  administrator: t`administrator`,
  "": t`none`,
};

/** What people call a built-in role. */
export function roleWord(role: RoleOrNone): string {
  return WORDS[role];
}

/** The built-in roles as a field offers them, with what each may do. */
export const ROLES: readonly { value: Role; label: string }[] = [
  { value: "viewer", label: "viewer: sees everything" },
  { value: "operator", label: "operator: runs fleets, models and federations" },
  { value: "administrator", label: "administrator: manages people and settings, too" },
];

/** In the whole installation one may have none. */
export const ROLES_OR_NONE: readonly { value: RoleOrNone; label: string }[] = [
  ...ROLES,
  { value: "", label: "none: only what projects give" },
];
