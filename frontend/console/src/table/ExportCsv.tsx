import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";

/** All rows that a list's query lets through, not only those on the page, as CSV. */
export function ExportCsv({ path, query }: { path: string; query: Readonly<Record<string, unknown>> }) {
  const { page: _page, page_size: _size, ...wanted } = query;
  const pairs = Object.entries({ ...wanted, format: "csv" })
    .flatMap(([name, value]) => (Array.isArray(value) ? value.map((one) => [name, one]) : [[name, value]]))
    .map(([name, value]) => [String(name), String(value)]);
  return (
    <Button
      component="a"
      href={`${path}?${new URLSearchParams(pairs)}`}
      download
      size="sm"
      variant="default"
      leftSection={<IconDownload size={15} aria-hidden />}
    >
      CSV
    </Button>
  );
}
