import { Alert, Text } from "@mantine/core";
import { IconArchive } from "@tabler/icons-react";
import { Panel } from "./Panel";
import { When } from "./When";

/** What people noted about a thing, and that it is archived, where it is. */
export function Noted({ notes, archivedAt }: { notes: string | undefined; archivedAt: string | null }) {
  return (
    <>
      {archivedAt !== null && (
        <Alert color="gray" variant="light" icon={<IconArchive />} title="Archived">
          Lists have left it out since <When at={archivedAt} />; its history is kept.
        </Alert>
      )}
      {notes !== undefined && notes !== "" && (
        <Panel title="Notes">
          <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }} maw="80ch">
            {notes}
          </Text>
        </Panel>
      )}
    </>
  );
}
