import { Modal } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { useFocusBack } from "./focus";
import { AskToLeave } from "./UnsavedChanges";

interface Props {
  readonly title: string;
  /** Whether something was changed that would be lost. */
  readonly changed: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A form over the page that changes a row: asks before it is closed with changes. */
export function ChangeDialog({ title, changed, onClose, children }: Props) {
  const [leaving, leave] = useDisclosure();
  useFocusBack();
  return (
    <>
      <Modal opened onClose={changed ? leave.open : onClose} closeOnEscape={!leaving} title={title} size="xl">
        {children}
      </Modal>
      <AskToLeave
        asking={leaving}
        says="What you have typed here is lost when you close it."
        onStay={leave.close}
        onLeave={onClose}
      />
    </>
  );
}
