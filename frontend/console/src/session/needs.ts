import { t } from "../language/t";
import type { Session } from "./session";

/** What one needs to be shown a page: a role in the whole installation, or leave to do an action of the audit log. */
export type Need = "installation" | { readonly action: string };

/** Why something is not shown to somebody: the platform's code, and a sentence. */
export interface Lack {
  readonly code: string;
  readonly sentence: string;
}

/** What the person lacks to be shown anything at all: a role. */
export function lackOfRole({ operator, project, all_projects, may }: Session): Lack | undefined {
  if (operator === null || project !== null || all_projects) return undefined;
  const { code = "acting.no_project", sentence = "" } = may.find(({ allowed }) => !allowed) ?? {};
  return { code, sentence };
}

/** What the person lacks of what a page needs; undefined: nothing. */
export function lackOf(need: Need, session: Session): Lack | undefined {
  if (need !== "installation") {
    const found = session.may.find(({ action }) => action === need.action);
    return found === undefined || found.allowed ? undefined : { code: found.code, sentence: found.sentence };
  }
  return session.all_projects
    ? undefined
    : {
        code: "acting.installation_role_needed",
        sentence: t`This is of all projects, so it needs the role viewer in the whole installation; yours is in a project. An administrator of the installation can give it.`,
      };
}
