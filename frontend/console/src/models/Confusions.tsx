import { Text } from "@mantine/core";
import { counted, percent, signed } from "../components/units";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import classes from "./Confusions.module.css";
import { type Confusion, type MatrixRow, type MistakeLine, matrixOf, mistakesOf } from "./confusion";

const CELL_PX = 72;
const LISTED = 12;

/** Which classes a version takes for which: a matrix of few classes, of many the most frequent mistakes. */
export function ConfusionMatrix({ of, labels }: { of: Confusion; labels: readonly string[] }) {
  const rows = matrixOf(of, labels);
  if (rows === undefined) return <Mistakes versions={[""]} of={[of]} labels={labels} />;
  const columns: readonly SmallColumn<MatrixRow>[] = [
    { header: "Class", cell: ({ name }) => name },
    { header: "Samples", align: "end", cell: ({ samples }) => counted(samples) },
    ...labels.map((label, predicted) => ({
      header: label,
      align: "end" as const,
      cell: ({ shares }: MatrixRow) => written(shares[predicted] ?? 0),
      tint: ({ shares }: MatrixRow) => shares[predicted] ?? 0,
    })),
  ];
  return (
    <div>
      <Head title="Confusion matrix" header={["class", "samples", ...labels]}>
        {rows.map(({ name, samples, shares }) => [name, samples, ...shares])}
      </Head>
      <Text size="xs" c="var(--quiet)" mb={4}>
        Of the held-out samples of the class in each row, the share that it takes for the class in each column.
      </Text>
      <SmallTable
        label="Confusion matrix"
        columns={columns}
        rows={rows}
        rowKey={({ name }) => name}
        minWidth={CELL_PX * (labels.length + 2)}
      />
    </div>
  );
}

interface MistakesProps {
  /** Names of the versions, the baseline first; of one, blank. */
  readonly versions: readonly string[];
  readonly of: readonly (Confusion | undefined)[];
  readonly labels: readonly string[];
}

/** The mistakes that versions make most often, beside the baseline's. */
export function Mistakes({ versions, of, labels }: MistakesProps) {
  const lines = mistakesOf(of, labels, LISTED);
  if (lines.length === 0) return null;
  const names = versions.map((name) => name || t`Share of the class`);
  const columns: readonly SmallColumn<MistakeLine>[] = [
    { header: "Class", cell: ({ actual }) => actual },
    { header: "Taken for", cell: ({ predicted }) => predicted },
    ...names.map((name, nth) => ({
      header: nth === 0 && names.length > 1 ? `${name}, the baseline` : name,
      align: "end" as const,
      cell: ({ shares }: MistakeLine) => <Share shares={shares} nth={nth} />,
    })),
  ];
  return (
    <div>
      <Head title="Most frequent mistakes" header={["class", "taken for", ...names]}>
        {lines.map(({ actual, predicted, shares }) => [actual, predicted, ...shares.map((share) => share ?? "")])}
      </Head>
      <SmallTable
        label="Most frequent mistakes"
        columns={columns}
        rows={lines}
        rowKey={({ actual, predicted }) => `${actual} ${predicted}`}
        minWidth={140 * (names.length + 2)}
      />
    </div>
  );
}

interface HeadProps {
  readonly title: string;
  readonly header: readonly string[];
  /** Rows as they are saved. */
  readonly children: readonly (readonly (string | number)[])[];
}

function Head({ title, header, children }: HeadProps) {
  return (
    <div className={classes.head}>
      <Text size="sm" fw={550}>
        {title}
      </Text>
      <SaveCsv title={title} header={header} rows={children} />
    </div>
  );
}

/** A share, and how far it is from the baseline's. */
function Share({ shares, nth }: { shares: readonly (number | null)[]; nth: number }) {
  const [baseline] = shares;
  const share = shares[nth];
  return (
    <>
      {share == null ? "–" : percent(share)}
      {nth > 0 && share != null && baseline != null && (
        <Text size="xs" c="var(--quiet)">
          {signed(share - baseline, percent)}
        </Text>
      )}
    </>
  );
}

/** Nothing is not worth reading. */
function written(share: number): string {
  return share === 0 ? "·" : percent(share);
}
