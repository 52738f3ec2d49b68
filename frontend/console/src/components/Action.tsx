import { ActionIcon, Button, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown } from "@tabler/icons-react";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import { type Call, commandOf } from "../api/curl";
import { isProblem, NotDone } from "../api/problem";
import { t } from "../language/t";
import { useMay } from "../session/session";
import classes from "./Action.module.css";
import { tell } from "./notice";

// Pages whose actions ask nothing do without it.
const Confirm = lazy(() => import("./Confirm"));

interface Props {
  /** The action's name in the audit log; who may not do it sees why. */
  readonly action: string;
  readonly label: string;
  readonly call: Call;
  /** What is asked before it is done; for what cannot be undone. */
  readonly confirm?: ReactNode;
  /** What the button says that does it, once it was asked; without, the same. */
  readonly confirmLabel?: string;
  /** Why what was asked cannot be done yet, such as a field that is empty. */
  readonly unready?: string | undefined;
  /** What is said when it is done. */
  readonly done?: string;
  /** Queries whose answers it changes. */
  readonly changes?: readonly QueryKey[];
  readonly onDone?: (answer: unknown) => void;
  /** Why it cannot be done now, whoever asks. */
  readonly blocked?: string | undefined;
  readonly primary?: boolean;
  readonly danger?: boolean;
  /** Whether what is asked is a form with many fields. */
  readonly wide?: boolean;
  readonly icon?: ReactNode;
}

/** A button that changes something: says why where it cannot, asks first where it must, and can be had as a command. */
export function Action(props: Props) {
  const { action, label, call, confirm, confirmLabel = label, unready, done } = props;
  const { changes = [], onDone, blocked, primary, danger, wide, icon } = props;
  const may = useMay(action);
  const why = may.allowed ? blocked : may.why;
  const [asking, ask] = useDisclosure();
  const queries = useQueryClient();
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: () => call({}),
    onSuccess: (answer) => {
      ask.close();
      if (done !== undefined) tell(done);
      onDone?.(answer);
    },
    onError: (error) => {
      if (!asking) tell(sentence(error), t`${label} did not work`);
    },
    onSettled: () => Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  const copy = async () => {
    await navigator.clipboard.writeText(await commandOf(call));
    tell(t`Copied. Set COTERIE_TOKEN to an API token of yours.`);
  };
  const colour = danger === true ? "red" : primary === true ? "teal" : "gray";
  const variant = primary === true && why === undefined ? "filled" : "default";

  return (
    <>
      <Button.Group>
        <Tooltip label={why} disabled={why === undefined} multiline maw={320}>
          <Button
            size="sm"
            type={primary === true ? "submit" : "button"}
            variant={variant}
            color={colour}
            leftSection={icon}
            loading={isPending && !asking}
            {...(why !== undefined && { "data-disabled": true })}
            aria-disabled={why !== undefined}
            onClick={() => (why !== undefined ? undefined : confirm === undefined ? mutate() : ask.open())}
          >
            {label}
          </Button>
        </Tooltip>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon
              variant={variant}
              color={colour}
              size={36}
              className={classes.more}
              aria-label={`More about “${label}”`}
            >
              <IconChevronDown size={14} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={copy}>Copy as curl</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Button.Group>
      {confirm !== undefined && (
        <Suspense>
          <Confirm
            asking={asking}
            title={label}
            label={confirmLabel}
            unready={unready}
            failed={error === null ? undefined : sentence(error)}
            danger={danger === true}
            wide={wide === true}
            pending={isPending}
            onLeave={() => {
              reset();
              ask.close();
            }}
            onDo={mutate}
          >
            {confirm}
          </Confirm>
        </Suspense>
      )}
    </>
  );
}

function sentence(error: unknown): string {
  if (error instanceof NotDone) return error.message;
  return isProblem(error)
    ? `${error.detail} [${error.code}]`
    : t`The platform does not answer. Whether it was done is not known: look before you try again.`;
}
