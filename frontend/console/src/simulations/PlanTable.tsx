import { valueWords } from "../plan/difference";
import { kindWords, slotWords } from "../plan/kinds";
import { labelOf } from "../plan/schema";
import { SmallTable } from "../table/SmallTable";

type Kind = Readonly<Record<string, unknown>>;

/** A plan that is only looked at: the kind in each slot, and its hyperparameters. */
export function PlanTable({ plan }: { plan: object }) {
  return (
    <SmallTable
      label="The plan"
      columns={[
        { header: "Slot", cell: ([slot]) => slotWords(slot) },
        { header: "Kind", cell: ([, { kind }]) => (typeof kind === "string" ? kindWords(kind) : "–") },
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
    .map(([name, value]) => `${labelOf(name)} ${isKind(value) ? within(value) : valueWords(name, value)}`)
    .join(", ");
}

/** A kind among the hyperparameters of another. */
function within(nested: Kind): string {
  const set = hyperparametersOf(nested);
  const name = kindWords(String(nested.kind));
  return set === "" ? name : `${name} (${set})`;
}

function isKind(value: unknown): value is Kind {
  return typeof value === "object" && value !== null && "kind" in value;
}
