import { Alert, Button, Group, Progress, Stack, Text, Tooltip } from "@mantine/core";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { isProblem } from "../api/problem";
import { upload, uploadCommand } from "../api/upload";
import { t } from "../language/t";
import { useMay } from "../session/session";
import { tell } from "./notice";

interface Props {
  /** The action's name in the audit log; who may not do it sees why. */
  readonly action: string;
  readonly label: string;
  /** Where the form goes. */
  readonly path: string;
  readonly form: () => FormData;
  /** Why it cannot be sent yet. */
  readonly blocked: string | undefined;
  readonly changes: readonly QueryKey[];
  readonly onDone: (answer: unknown) => void;
}

/** A button that sends a form with files, and tells how far it is. */
export function Upload({ action, label, path, form, blocked, changes, onDone }: Props) {
  const may = useMay(action);
  const why = may.allowed ? blocked : may.why;
  const queries = useQueryClient();
  const [sent, setSent] = useState(0);
  const ending = useRef<AbortController>(undefined);
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => {
      setSent(0);
      ending.current = new AbortController();
      return upload(path, form(), { onSent: setSent, signal: ending.current.signal });
    },
    onSuccess: onDone,
    onSettled: () => Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  const copy = async () => {
    await navigator.clipboard.writeText(uploadCommand(path, form()));
    tell(t`Copied. Set COTERIE_TOKEN to an API token of yours.`);
  };
  return (
    <Stack gap="sm" maw={560}>
      {isPending && (
        <div>
          <Progress value={100 * sent} aria-label={`${label}: how much has been sent`} />
          <Text size="sm" c="var(--quiet)" mt={4} role="status">
            {sent < 1 ? `${Math.floor(100 * sent)}% sent` : "The platform stores it."}
          </Text>
        </div>
      )}
      {error !== null && error.name !== "AbortError" && (
        <Alert color="red" variant="light" role="alert" title="It was not taken">
          {isProblem(error)
            ? `${error.detail} [${error.code}]`
            : "The platform does not answer. Whether it was taken is not known: look before you try again."}
        </Alert>
      )}
      <Group gap="xs">
        <Tooltip label={why} disabled={why === undefined} multiline maw={320}>
          <Button
            size="sm"
            color="teal"
            variant={why === undefined ? "filled" : "default"}
            loading={isPending}
            {...(why !== undefined && { "data-disabled": true })}
            aria-disabled={why !== undefined}
            onClick={() => (why === undefined ? mutate() : undefined)}
          >
            {label}
          </Button>
        </Tooltip>
        {isPending ? (
          <Button size="sm" variant="default" onClick={() => ending.current?.abort()}>
            Stop
          </Button>
        ) : (
          <Button size="sm" variant="subtle" color="gray" onClick={copy}>
            Copy as curl
          </Button>
        )}
      </Group>
    </Stack>
  );
}
