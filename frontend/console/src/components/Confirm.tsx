import { Button, Group, Modal, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  readonly asking: boolean;
  readonly label: string;
  readonly danger: boolean;
  readonly pending: boolean;
  readonly onLeave: () => void;
  readonly onDo: () => void;
  readonly children: ReactNode;
}

/** What is asked before something is done that cannot be undone. */
export default function Confirm({ asking, label, danger, pending, onLeave, onDo, children }: Props) {
  return (
    <Modal opened={asking} onClose={onLeave} title={label} centered>
      <Text component="div" size="sm">
        {children}
      </Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onLeave} data-autofocus>
          Leave it
        </Button>
        <Button color={danger ? "red" : "teal"} loading={pending} onClick={onDo}>
          {label}
        </Button>
      </Group>
    </Modal>
  );
}
