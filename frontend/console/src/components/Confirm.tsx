import { Alert, Button, Group, Modal, Text, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { Form } from "./Form";

interface Props {
  readonly asking: boolean;
  readonly title: string;
  readonly label: string;
  /** Why it cannot be done yet. */
  readonly unready: string | undefined;
  /** Why it was not done. */
  readonly failed: string | undefined;
  readonly danger: boolean;
  /** Whether it holds a form with many fields. */
  readonly wide: boolean;
  readonly pending: boolean;
  readonly onLeave: () => void;
  readonly onDo: () => void;
  readonly children: ReactNode;
}

/** What is asked before something is done that cannot be undone. */
export default function Confirm(props: Props) {
  const { asking, title, label, unready, failed, danger, wide, pending, onLeave, onDo, children } = props;
  return (
    <Modal opened={asking} onClose={onLeave} title={title} size={wide ? "lg" : "md"} centered>
      <Form>
        <Text component="div" size="sm">
          {children}
        </Text>
        {failed !== undefined && (
          <Alert color="red" variant="light" mt="md" role="alert" title="It did not work">
            {failed}
          </Alert>
        )}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" onClick={onLeave} data-autofocus>
            Leave it
          </Button>
          <Tooltip label={unready} disabled={unready === undefined} multiline maw={320}>
            <Button
              type="submit"
              color={danger ? "red.9" : "teal"}
              loading={pending}
              {...(unready !== undefined && { "data-disabled": true })}
              aria-disabled={unready !== undefined}
              onClick={() => (unready === undefined ? onDo() : undefined)}
            >
              {label}
            </Button>
          </Tooltip>
        </Group>
      </Form>
    </Modal>
  );
}
