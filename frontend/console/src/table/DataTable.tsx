import {
  ActionIcon,
  Anchor,
  Button,
  Group,
  Menu,
  Pagination,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconArrowDown, IconArrowUp, IconColumns, IconSearch } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import {
  type Dispatch,
  memo,
  type ReactNode,
  type SetStateAction,
  useDeferredValue,
  useEffect,
  useMemo,
  useState,
} from "react";
import { isProblem } from "../api/problem";
import { Failed } from "../components/Failed";
import { counted } from "../components/units";
import { t } from "../language/t";
import classes from "./DataTable.module.css";
import { isShown, nextSort, type TableSearch, withColumnToggled } from "./search";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** The name to sort by, where the platform can. */
  readonly sort?: string;
  readonly align?: "end";
  /** Its header is only for those who hear the page. */
  readonly headless?: boolean;
  /** Only shown when it is chosen. */
  readonly optional?: boolean;
}

/** One page of rows, as a query of TanStack Query gives it. */
export interface Rows<Row> {
  readonly data: { readonly results: readonly Row[]; readonly count: number } | undefined;
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly refetch: () => unknown;
}

/** How cells say that there is nothing. */
const NONE = "–";

type SetChosen = Dispatch<SetStateAction<ReadonlySet<string>>>;

interface Props<Row> {
  /** What the rows are, for those who hear the page. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: Rows<Row>;
  readonly rowKey: (row: Row) => string;
  /** What people call a row; without, its key. */
  readonly rowName?: (row: Row) => string;
  readonly pageSize: number;
  readonly search: TableSearch;
  readonly onSearch: (change: TableSearch) => void;
  readonly searchable?: string;
  /** Filters and tools, beside the field to search with. */
  readonly tools?: ReactNode;
  /** What stands where there are no rows. */
  readonly empty: ReactNode;
  readonly chosen?: ReadonlySet<string>;
  readonly onChosen?: SetChosen;
}

/** A table whose rows the platform searches, sorts and pages; what it shows is in the address. */
export function DataTable<Row>(props: Props<Row>) {
  const {
    label,
    rows,
    rowKey,
    rowName = rowKey,
    pageSize,
    search,
    onSearch,
    searchable,
    tools,
    empty,
    chosen,
    onChosen,
  } = props;
  // The same array as long as the same columns are shown, or every row would be drawn anew.
  const { show, hide } = search;
  const columns = useMemo(
    () => props.columns.filter((column) => isShown({ show, hide }, column)),
    [props.columns, show, hide],
  );
  // Rows that come are drawn in between what is typed and pressed meanwhile.
  const drawn = useDeferredValue(rows.data);
  const shown = drawn?.results;
  const pages = Math.max(1, Math.ceil((drawn?.count ?? 0) / pageSize));
  const keys = shown?.map(rowKey) ?? [];
  const all = keys.length > 0 && keys.every((key) => chosen?.has(key));

  return (
    <div>
      <Group gap="xs" mb="sm" role="search">
        {searchable !== undefined && (
          <SearchField label={searchable} value={search.q ?? ""} onChange={(q) => onSearch(changed(search, { q }))} />
        )}
        {tools}
        <ColumnChoice {...props} />
      </Group>
      {rows.error !== null && rows.error !== undefined && shown === undefined ? (
        <Stack gap="sm" align="flex-start">
          <Failed error={rows.error} retry={rows.refetch} />
          {isProblem(rows.error) && rows.error.code === "rest.invalid" && (
            <Anchor component={Link} to="." search={{} as never} size="sm">
              Show all
            </Anchor>
          )}
          {search.page !== undefined && (
            <Button variant="default" size="xs" onClick={() => onSearch(changed(search, {}))}>
              Go to the first page
            </Button>
          )}
        </Stack>
      ) : (
        <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} className={classes.frame}>
          <Table
            aria-label={label}
            aria-busy={rows.isFetching || drawn !== rows.data}
            className={classes.table}
            verticalSpacing={7}
          >
            <Table.Thead>
              <Table.Tr>
                {onChosen !== undefined && (
                  <Table.Th w={36}>
                    <Box
                      label="Choose all on this page"
                      checked={all}
                      indeterminate={!all && keys.some((key) => chosen?.has(key))}
                      onChange={() => onChosen(all ? new Set() : new Set(keys))}
                    />
                  </Table.Th>
                )}
                {columns.map((column) => (
                  <Head key={column.id} column={column} search={search} onSearch={onSearch} />
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown === undefined
                ? Array.from({ length: 8 }, (_, row) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the placeholders are all alike
                    <tr key={row}>
                      {onChosen !== undefined && <td />}
                      {columns.map((column) => (
                        <td key={column.id}>
                          <Skeleton height={12} width="60%" my={4} />
                        </td>
                      ))}
                    </tr>
                  ))
                : shown.map((row) => (
                    <BodyRow
                      key={rowKey(row)}
                      id={rowKey(row)}
                      name={rowName(row)}
                      row={row}
                      columns={columns}
                      chosen={chosen?.has(rowKey(row)) ?? false}
                      onChosen={onChosen}
                    />
                  ))}
            </Table.Tbody>
          </Table>
          {shown?.length === 0 && empty}
        </Table.ScrollContainer>
      )}
      <Group justify="space-between" mt="sm" gap="xs">
        <Text size="sm" c="var(--quiet)" aria-live="polite">
          {drawn !== undefined && <Counted count={drawn.count} page={search.page ?? 1} pageSize={pageSize} />}
        </Text>
        {pages > 1 && (
          <Pagination
            size="sm"
            total={pages}
            value={search.page ?? 1}
            onChange={(page) => onSearch({ ...search, page })}
            getControlProps={(control) => ({ "aria-label": CONTROLS[control] })}
          />
        )}
      </Group>
    </div>
  );
}

interface BodyRowProps<Row> {
  readonly id: string;
  readonly name: string;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly chosen: boolean;
  readonly onChosen: SetChosen | undefined;
}

/** One row: drawn anew when it is chosen, its cells only when what they show is another. */
const BodyRow = memo(function BodyRow<Row>({ id, name, row, columns, chosen, onChosen }: BodyRowProps<Row>) {
  return (
    <tr data-chosen={chosen || undefined}>
      {onChosen !== undefined && (
        <td className={classes.choice}>
          <Box label={`Choose ${name}`} checked={chosen} onChange={() => onChosen((before) => toggled(before, id))} />
        </td>
      )}
      <Cells row={row} columns={columns} />
    </tr>
  );
}) as <Row>(props: BodyRowProps<Row>) => ReactNode;

const CONTROLS = {
  first: t`first page`,
  previous: t`previous page`,
  next: t`next page`,
  last: t`last page`,
};

const Cells = memo(function Cells<Row>({ row, columns }: Pick<BodyRowProps<Row>, "row" | "columns">) {
  return columns.map((column, place) => (
    <td
      key={column.id}
      className={place === 0 ? classes.name : undefined}
      data-align={column.align}
      data-label={column.headless === true ? undefined : column.header}
    >
      <Value>{column.cell(row)}</Value>
    </td>
  ));
}) as <Row>(props: Pick<BodyRowProps<Row>, "row" | "columns">) => ReactNode;

/** What a column has of a row; a phone leaves out what is none. */
function Value({ children }: { children: ReactNode }) {
  return (
    <div className={classes.value} data-none={children === NONE || undefined}>
      {children}
    </div>
  );
}

interface BoxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly indeterminate?: boolean;
  readonly onChange: () => void;
}

/** The browser's own: fifty are ticked at once. */
function Box({ label, checked, indeterminate = false, onChange }: BoxProps) {
  return (
    <input
      type="checkbox"
      className={classes.box}
      aria-label={label}
      checked={checked}
      onChange={onChange}
      ref={(box) => {
        if (box !== null) box.indeterminate = indeterminate;
      }}
    />
  );
}

function Head<Row>({
  column,
  search,
  onSearch,
}: {
  column: Column<Row>;
  search: TableSearch;
  onSearch: (change: TableSearch) => void;
}) {
  const { sort } = column;
  if (sort === undefined) {
    return (
      <Table.Th ta={column.align}>
        {column.headless === true ? <VisuallyHidden>{column.header}</VisuallyHidden> : column.header}
      </Table.Th>
    );
  }
  const direction = search.sort === sort ? "ascending" : search.sort === `-${sort}` ? "descending" : "none";
  return (
    <Table.Th ta={column.align} aria-sort={direction}>
      <button
        type="button"
        className={classes.sort}
        onClick={() => onSearch(changed(search, { sort: nextSort(search.sort, sort) }))}
      >
        {column.header}
        {direction === "ascending" && <IconArrowUp size={13} aria-hidden />}
        {direction === "descending" && <IconArrowDown size={13} aria-hidden />}
      </button>
    </Table.Th>
  );
}

function SearchField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  const tell = useDebouncedCallback(onChange, 250);
  useEffect(() => setTyped(value), [value]);
  return (
    <TextInput
      type="search"
      size="sm"
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={15} aria-hidden />}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
      className={classes.search}
    />
  );
}

function ColumnChoice<Row>({ columns, search, onSearch }: Props<Row>) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label="Columns" ml="auto">
          <IconColumns size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {columns
          .filter((column) => column.headless !== true)
          .map((column) => (
            <Menu.CheckboxItem
              key={column.id}
              checked={isShown(search, column)}
              onChange={() => onSearch(withColumnToggled(search, column))}
            >
              {column.header}
            </Menu.CheckboxItem>
          ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Another search or order begins at the first page. */
function changed(search: TableSearch, change: { q?: string; sort?: string | undefined }): TableSearch {
  const { page: _page, ...kept } = search;
  const next: Record<string, unknown> = { ...kept, ...change };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined && value !== ""));
}

function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** Where there are none, that is only said: it is seen already. */
function Counted({ count, page, pageSize }: { count: number; page: number; pageSize: number }) {
  if (count === 0) return <VisuallyHidden>none</VisuallyHidden>;
  const first = (page - 1) * pageSize + 1;
  const last = Math.min(count, page * pageSize);
  return t`${counted(first)}–${counted(last)} of ${counted(count)}`;
}
