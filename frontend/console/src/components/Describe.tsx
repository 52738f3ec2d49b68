import { Stack, Textarea, TextInput } from "@mantine/core";
import type { QueryKey } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { t } from "../language/t";
import { Action } from "./Action";

/** What people call a thing, and what they want to remember of it. */
export interface Described {
  readonly name: string;
  readonly notes: string;
}

interface Props extends Described {
  /** The action's name in the audit log. */
  readonly action: string;
  /** It may have no name, and is called otherwise then. */
  readonly unnamed?: boolean;
  readonly changes: readonly QueryKey[];
  readonly call: (described: Described, via: object) => Promise<unknown>;
  /** Further fields of the form. */
  readonly children?: ReactNode;
}

const MAX_NAME = 100;
const MAX_NOTES = 4000;

/** Renames a thing and writes notes about it. */
export function Describe(props: Props) {
  const { name, notes } = props;
  return <Form key={JSON.stringify([name, notes])} {...props} />;
}

function Form({ action, unnamed = false, name, notes, changes, call, children }: Props) {
  const [typed, type] = useState<Described>({ name, notes });
  return (
    <Action
      action={action}
      label="Edit"
      confirm={
        <Stack gap="sm">
          <TextInput
            label="Name"
            data-autofocus
            maxLength={MAX_NAME}
            required={!unnamed}
            value={typed.name}
            onChange={(event) => type({ ...typed, name: event.currentTarget.value })}
          />
          {children}
          <Textarea
            label="Notes"
            description="what you want to remember of it; everybody here can read them"
            rows={4}
            resize="vertical"
            maxLength={MAX_NOTES}
            value={typed.notes}
            onChange={(event) => type({ ...typed, notes: event.currentTarget.value })}
          />
        </Stack>
      }
      confirmLabel="Save"
      unready={typed.name.trim() === "" && !unnamed ? t`Give it a name first.` : undefined}
      changes={changes}
      call={(via) => call({ name: typed.name.trim(), notes: typed.notes }, via)}
    />
  );
}
