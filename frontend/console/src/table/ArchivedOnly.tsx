import { Switch } from "@mantine/core";
import type { TableSearch } from "./search";

/** Has a list show what is archived, instead of the rest. */
export function ArchivedOnly({ search, onSearch }: { search: TableSearch; onSearch: (change: TableSearch) => void }) {
  const { archived = false, page: _page, ...kept } = search;
  return (
    <Switch
      label="Archived"
      checked={archived}
      onChange={(event) => onSearch(event.currentTarget.checked ? { ...kept, archived: true } : kept)}
    />
  );
}
