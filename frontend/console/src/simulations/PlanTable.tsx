import { SmallTable } from "../table/SmallTable";

type Kind = Readonly<Record<string, unknown>>;

/** A plan that is only looked at: the kind in each slot, and its hyperparameters. */
export function PlanTable({ plan }: { plan: object }) {
  return (
    <SmallTable
      label="The plan"
      columns={[
        { header: "Slot", cell: ([slot]) => slot.replaceAll("_", " ") },
        { header: "Kind", cell: ([, { kind }]) => String(kind ?? "–").replaceAll("_", " ") },
        { header: "Hyperparameters", cell: ([, kind]) => hyperparametersOf(kind) },
      ]}
      rows={Object.entries(plan as Readonly<Record<string, Kind>>)}
      rowKey={([slot]) => slot}
      minWidth={420}
    />
  );
}

function hyperparametersOf({ kind: _kind, ...values }: Kind): string {
  return Object.entries(values)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
