import { Group, Text } from "@mantine/core";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { signed } from "./units";

/** One figure of several things, the baseline's first; null where one does not have it. */
export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
}

interface Props {
  readonly label: string;
  readonly header: string;
  /** Of what is compared, the baseline first. */
  readonly names: readonly string[];
  readonly lines: readonly Line[];
}

const COLUMN_PX = 150;

/** Figures of several things in columns, each with how far it is from the baseline's, which is the first. */
export function SideBySide({ label, header, names, lines }: Props) {
  const columns: readonly SmallColumn<Line>[] = [
    { header, cell: ({ name }) => name },
    ...names.map((name, nth) => ({
      header: nth === 0 ? `${name}, the baseline` : name,
      align: "end" as const,
      cell: (line: Line) => <Value line={line} nth={nth} />,
    })),
  ];
  const saved = [header, ...names.flatMap((name, nth) => (nth === 0 ? [name] : [name, t`${name}, change`]))];
  const rows = lines.map(({ name, values }) => [
    name,
    ...values.flatMap((value, nth) => (nth === 0 ? [value ?? ""] : [value ?? "", changeOf(values, nth) ?? ""])),
  ]);
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={550}>
          {label}
        </Text>
        <SaveCsv title={label} header={saved} rows={rows} />
      </Group>
      <SmallTable
        label={label}
        columns={columns}
        rows={lines}
        rowKey={({ name }) => name}
        minWidth={COLUMN_PX * (names.length + 1)}
      />
    </div>
  );
}

/** A figure, and how far it is from the baseline's. */
function Value({ line: { values, format }, nth }: { line: Line; nth: number }) {
  const value = values[nth] ?? null;
  const change = changeOf(values, nth);
  return (
    <>
      {value === null ? "–" : format(value)}
      {nth > 0 && change !== null && (
        <Text size="xs" c="var(--quiet)">
          {signed(change, format)}
        </Text>
      )}
    </>
  );
}

function changeOf(values: readonly (number | null)[], nth: number): number | null {
  const [baseline] = values;
  const value = values[nth];
  return baseline == null || value == null ? null : value - baseline;
}
