import { ActionIcon } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { save } from "../components/save";
import { csvOf } from "./csv";

interface Props {
  /** Names the file, and the button for those who hear the page. */
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** The rows of a table that is all on the page, as CSV. */
export function SaveCsv({ title, header, rows }: Props) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-label={`Save “${title}” as CSV`}
      onClick={() => save(`${title}.csv`, new Blob([csvOf(header, rows)], { type: "text/csv" }))}
    >
      <IconDownload size={15} aria-hidden />
    </ActionIcon>
  );
}
