import { t } from "../../src/language/t";

type Kind = "a type" | "";

interface Column {
  readonly header: string;
  readonly id: string;
}

export const CLOSE = { "aria-label": "Close" };

export const COLUMNS: readonly Column[] = [
  { header: "Devices", id: "not shown" },
  { header: "Updates", id: "not shown" },
];

export function said(many: number): string {
  return many === 1 ? t`one device waits` : t`${many} devices wait`;
}

export function Page({ rows, kind, late }: { rows: readonly number[]; kind: Kind; late?: string }) {
  return (
    <section title="Rounds" lang="not shown" aria-label={late ?? `Since ${rows[0]}`}>
      {kind === "a type" && "it is open"}
      <p>
        Of {rows.length} devices <b id="not shown">half</b>, and {said(rows.length)} are{" "}
        <i title={late === undefined ? "on time" : "`late`"} />.{/* a comment */}
      </p>
      {rows.map((row) => (
        <i key={row}>{row}</i>
      ))}
    </section>
  );
}
