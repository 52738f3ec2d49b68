import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { save } from "../components/save";
import { csvOf } from "../table/csv";

/** Hands the whole outcome over as a file of JSON. */
export function SaveJson({ name, content }: { name: string; content: string }) {
  return (
    <Saving label="JSON" onClick={() => save(`${name}.json`, new Blob([content], { type: "application/json" }))} />
  );
}

interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Hands a table over as CSV. */
export function SaveTable({ name, of }: { name: string; of: Table }) {
  return (
    <Saving
      label="CSV of rounds"
      onClick={() => save(`${name}.csv`, new Blob([csvOf(of.header, of.rows)], { type: "text/csv" }))}
    />
  );
}

function Saving({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button size="sm" variant="default" leftSection={<IconDownload size={15} aria-hidden />} onClick={onClick}>
      {label}
    </Button>
  );
}
