import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./SmallTable.module.css";

export interface SmallColumn<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: "end";
  /** How strongly a cell is tinted, from 0 to 1: large values are found at a glance. */
  readonly tint?: (row: Row) => number;
}

interface Props<Row> {
  /** What the rows are, for those who hear the page. */
  readonly label: string;
  /** The first names the row. */
  readonly columns: readonly SmallColumn<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** In pixels; where there is less room, the table scrolls. */
  readonly minWidth: number;
  /** The row that matters most. */
  readonly strong?: (row: Row) => boolean;
}

/** A few rows that are all on the page. */
export function SmallTable<Row>({ label, columns, rows, rowKey, minWidth, strong }: Props<Row>) {
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" tabIndex={0} className={classes.frame}>
      <Table verticalSpacing={6} aria-label={label} className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ header, align }) => (
              <Table.Th key={header} ta={align}>
                {header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={rowKey(row)} fw={strong?.(row) === true ? 550 : undefined}>
              {columns.map((column, place) => (
                <Cell key={column.header} column={column} row={row} names={place === 0} />
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Cell<Row>({ column, row, names }: { column: SmallColumn<Row>; row: Row; names: boolean }) {
  const { cell, align, tint } = column;
  if (names) return <Table.Th scope="row">{cell(row)}</Table.Th>;
  if (tint === undefined)
    return (
      <Table.Td ta={align} data-align={align}>
        {cell(row)}
      </Table.Td>
    );
  return (
    <Table.Td ta={align} data-align={align} className={classes.tinted} style={{ "--tint": tint(row) }}>
      {cell(row)}
    </Table.Td>
  );
}
