import { useCallback, useMemo, useState } from "react";
import { t } from "../language/t";
import { axesAlong } from "./axes";
import type { Bounds } from "./bounds";
import { Chart, nearest } from "./Chart";
import { hueOf } from "./hues";

import type { Readings } from "./Tooltip";
import type { Drawing, Ink, Series } from "./usePlot";
import type { ValuesOf } from "./Values";
import { Watched } from "./watched";

interface Props {
  readonly title: string;
  /** What the x axis counts; rounds where nothing else is said. */
  readonly counts?: "round" | "epoch";
  /** Numbers of the rounds, ascending; one at least. */
  readonly rounds: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly bounds?: Bounds;
  /** The x value that is pointed at, where charts of the same rounds point together. */
  readonly pointed?: Watched<number | null>;
}

/** Values by round: the x axis counts rounds, not time. */
export function RoundChart({ title, counts = "round", rounds, series, format, bounds, pointed: shared }: Props) {
  const [own] = useState(() => new Watched<number | null>(null));
  const draw = useCallback(
    ({ colour, axis }: Ink): Drawing => ({
      options: {
        ...axesAlong("rounds", axis, format, bounds),
        series: [
          {},
          ...series.map(({ label }, index) => ({
            label,
            stroke: colour(hueOf(index)),
            width: 1.75,
            spanGaps: true,
            points: { show: rounds.length < 2 },
          })),
        ],
      },
      data: [rounds, ...series.map(({ values }) => values)],
    }),
    [rounds, series, format, bounds],
  );
  const written = useCallback((value: number | null | undefined) => (value == null ? "–" : format(value)), [format]);
  const readAt = useCallback(
    (x: number): Readings => {
      const place = nearest(rounds, x);
      const readings = series.map(({ label, values }, index) => ({
        label,
        value: written(values[place]),
        colour: hueOf(index),
      }));
      return { heading: counts === "round" ? `Round ${rounds[place]}` : `Epoch ${rounds[place]}`, readings, notes: [] };
    },
    [counts, rounds, series, written],
  );
  const values = useMemo<ValuesOf>(
    () => ({
      rows: rounds.length,
      columns: [
        {
          header: counts === "round" ? "round" : "epoch",
          raw: (row) => rounds[row] ?? "",
          shown: (row) => `${rounds[row]}`,
        },
        ...series.map(({ label, values }) => ({
          header: label,
          raw: (row: number) => values[row] ?? "",
          shown: (row: number) => written(values[row]),
        })),
      ],
    }),
    [counts, rounds, series, written],
  );
  const legend = useMemo(
    () => (series.length > 1 ? series.map(({ label }, index) => ({ words: label, colour: hueOf(index) })) : []),
    [series],
  );
  return (
    <Chart
      title={title}
      draw={draw}
      places={rounds}
      pointed={shared ?? own}
      readAt={readAt}
      values={values}
      legend={legend}
      spoken={spokenOf(rounds, series, format, counts)}
    />
  );
}

/** Where each line begins and ends, in words. */
export function spokenOf(
  rounds: readonly number[],
  series: readonly Series[],
  format: (value: number) => string,
  counts: "round" | "epoch" = "round",
): string {
  const lines = series.flatMap(({ label, values }) => {
    const there = values.filter((value) => value !== null);
    const [first, last] = [there[0], there.at(-1)];
    return first === undefined || last === undefined ? [] : [t`${label} from ${format(first)} to ${format(last)}`];
  });
  if (lines.length === 0) return t`nothing was measured`;
  return counts === "round"
    ? t`${lines.join("; ")}, in ${rounds.length} rounds`
    : t`${lines.join("; ")}, in ${rounds.length} epochs`;
}
