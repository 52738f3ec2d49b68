import { Button, Group, Modal, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";

/** Asks before one leaves the page, or closes it, while changes are `present` that were not saved. */
export function UnsavedChanges({ present }: { present: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => present,
    enableBeforeUnload: present,
    withResolver: true,
  });
  return (
    <AskToLeave
      asking={status === "blocked"}
      says="What you have typed on this page is lost when you leave it."
      onStay={() => reset?.()}
      onLeave={() => proceed?.()}
    />
  );
}

interface Props {
  readonly asking: boolean;
  readonly says: string;
  readonly onStay: () => void;
  readonly onLeave: () => void;
}

/** The question itself. */
export function AskToLeave({ asking, says, onStay, onLeave }: Props) {
  return (
    <Modal opened={asking} onClose={onStay} title="Your changes are not saved" centered>
      <Text size="sm">{says}</Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onStay} data-autofocus>
          Stay here
        </Button>
        <Button color="red.9" onClick={onLeave}>
          Leave without saving
        </Button>
      </Group>
    </Modal>
  );
}
