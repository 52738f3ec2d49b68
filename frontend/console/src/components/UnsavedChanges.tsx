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
    <Modal opened={status === "blocked"} onClose={() => reset?.()} title="Your changes are not saved" centered>
      <Text size="sm">What you have typed on this page is lost when you leave it.</Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={() => reset?.()} data-autofocus>
          Stay here
        </Button>
        <Button color="red" onClick={() => proceed?.()}>
          Leave without saving
        </Button>
      </Group>
    </Modal>
  );
}
