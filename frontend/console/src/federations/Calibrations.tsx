import { State } from "../components/State";
import { t } from "../language/t";
import { SmallTable } from "../table/SmallTable";
import type { Calibration } from "./queries";

const FIGURES: Readonly<Record<string, string>> = {
  accuracy: t`Accuracy`,
  duration_s: t`Duration`,
  lost: t`Lost devices`,
  up_bytes: t`Bytes sent up`,
};

/** How good forecasts were, figure by figure; nothing before one was compared. */
export function Calibrations({ of }: { of: readonly Calibration[] }) {
  const compared = of.filter(({ rounds }) => rounds > 0);
  if (compared.length === 0) return null;
  return (
    <SmallTable
      label="How good forecasts are"
      columns={[
        { header: "Forecasts of", cell: ({ figure }) => FIGURES[figure] ?? figure },
        {
          header: "They are",
          cell: (one) => (
            <State of={one.is_believed ? "reliable" : one.coverage === null ? t`too few yet` : "unreliable"} />
          ),
        },
        { header: "Why", cell: ({ sentence }) => sentence },
      ]}
      rows={compared}
      rowKey={({ figure }) => figure}
      minWidth={420}
    />
  );
}
