import { Text } from "@mantine/core";
import { memo, useMemo } from "react";
import { counted } from "../components/units";
import { csvOf } from "../table/csv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";

/** A column of the table that is behind a chart. */
export interface ValuesColumn {
  readonly header: string;
  /** As a program reads it. */
  readonly raw: (row: number) => string | number;
  /** As a person reads it. */
  readonly shown: (row: number) => string;
}

/** The table behind a chart. */
export interface ValuesOf {
  readonly rows: number;
  readonly columns: readonly ValuesColumn[];
}

const MOST = 200;
const COLUMN_PX = 130;

/** What a chart shows, as a table: of many rows the last ones. */
export const Values = memo(function Values({ title, of }: { title: string; of: ValuesOf }) {
  const columns = useMemo<readonly SmallColumn<number>[]>(
    () =>
      of.columns.map(({ header, shown }, place) => ({
        header,
        cell: shown,
        ...(place > 0 && { align: "end" as const }),
      })),
    [of],
  );
  const first = Math.max(0, of.rows - MOST);
  const rows = Array.from({ length: of.rows - first }, (_, row) => first + row);
  return (
    <>
      <SmallTable
        label={`Values of “${title}”`}
        columns={columns}
        rows={rows}
        rowKey={String}
        minWidth={COLUMN_PX * columns.length}
      />
      {first > 0 && (
        <Text size="xs" c="var(--quiet)">
          {`The last ${counted(MOST)} of ${counted(of.rows)}; the CSV has them all.`}
        </Text>
      )}
    </>
  );
});

/** The same for programs. */
export function csvOfValues({ rows, columns }: ValuesOf): string {
  return csvOf(
    columns.map(({ header }) => header),
    Array.from({ length: rows }, (_, row) => columns.map(({ raw }) => raw(row))),
  );
}
