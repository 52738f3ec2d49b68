import type { QueryKey } from "@tanstack/react-query";
import { Action } from "./Action";

interface Props {
  /** Of the actions in the audit log: `archive_KIND` and `restore_KIND` of this app. */
  readonly app: string;
  readonly kind: string;
  readonly archivedAt: string | null;
  /** Why it cannot be archived now. */
  readonly blocked?: string | undefined;
  readonly changes: readonly QueryKey[];
  readonly archive: (via: object) => Promise<unknown>;
  readonly restore: (via: object) => Promise<unknown>;
}

/** Leaves a thing out of lists, and takes it back. */
export function Archive({ app, kind, archivedAt, blocked, changes, archive, restore }: Props) {
  if (archivedAt !== null) {
    return (
      <Action
        action={`${app}.restore_${kind}`}
        label="Restore"
        done="Lists show it again."
        changes={changes}
        call={restore}
      />
    );
  }
  return (
    <Action
      action={`${app}.archive_${kind}`}
      label="Archive"
      blocked={blocked}
      done="Lists leave it out; it can be restored on its page."
      changes={changes}
      call={archive}
    />
  );
}
