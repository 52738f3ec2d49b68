import { Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { TimeRange } from "../chart/TimeRange";
import { Answer } from "../components/Answer";
import { Loading } from "../components/Loading";
import { Panel } from "../components/Panel";
import { duration } from "../components/units";
import { t } from "../language/t";
import { ExportCsv } from "../table/ExportCsv";
import {
  choicesIn,
  DAYS,
  type DaySpeed,
  type Figure,
  linesOf,
  type SpeedSearch,
  speedHistoryQuery,
} from "./speedHistory";
import { CONDITIONS, nameOfClass } from "./speeds";

const TimeChart = lazy(() => import("../chart/TimeChart").then(({ TimeChart }) => ({ default: TimeChart })));
const FROM_NOTHING: readonly [number, number] = [0, Number.POSITIVE_INFINITY];
const WORDS: readonly { readonly value: Figure; readonly label: string }[] = [
  { value: "p50_s", label: "Half within" },
  { value: "p90_s", label: "90% within" },
  { value: "p99_s", label: "99% within" },
];
const WORKS = { predict: t`Predictions`, step: t`Train steps` } as const;

interface Props {
  readonly pair: string;
  readonly chosen: SpeedSearch;
  readonly onChoose: (chosen: SpeedSearch) => void;
}

/** How quick the devices of a pair were from day to day, by class and variant; nothing before any has told. */
export function SpeedHistory({ pair, chosen, onChoose }: Props) {
  return (
    <Answer of={useQuery(speedHistoryQuery(pair))} height={200}>
      {(rows) => rows.length > 0 && <History rows={rows} pair={pair} chosen={chosen} onChoose={onChoose} />}
    </Answer>
  );
}

function History({ rows, pair, chosen, onChoose }: Props & { readonly rows: readonly DaySpeed[] }) {
  const { works, work, conditions, charging, forms, classes } = useMemo(() => choicesIn(rows, chosen), [rows, chosen]);
  const { times, series } = useMemo(() => linesOf(rows, chosen), [rows, chosen]);
  const figure = chosen.figure ?? "p50_s";
  const choose = (change: { readonly [Name in keyof SpeedSearch]: SpeedSearch[Name] | undefined }) => {
    const kept = Object.entries({ ...chosen, ...change }).filter(([, value]) => value !== undefined);
    onChoose(Object.fromEntries(kept));
  };
  return (
    <Panel title="Speed over time" tools={<TimeRange />}>
      <Stack gap="sm">
        <div style={{ display: "flex", flexWrap: "wrap", gap: 8, alignItems: "end" }}>
          <Select
            label="What"
            data={works.map((value) => ({ value, label: WORKS[value] }))}
            value={work}
            allowDeselect={false}
            onChange={(value) => value !== null && choose({ work: value as DaySpeed["work"] })}
            w={140}
          />
          <Select
            label="Condition"
            data={conditions.map((value) => ({ value, label: CONDITIONS[value] }))}
            value={charging}
            allowDeselect={false}
            onChange={(value) => value !== null && choose({ charging: value as DaySpeed["charging"] })}
            w={160}
          />
          <Select
            label="Class"
            placeholder="All classes"
            clearable
            data={Array.from({ length: classes }, (_, place) => ({
              value: String(place + 1),
              label: nameOfClass(place, classes),
            }))}
            value={chosen.number === undefined ? null : String(chosen.number)}
            onChange={(value) => choose({ number: value === null ? undefined : Number(value) })}
            w={150}
          />
          <Select
            label="Variant"
            placeholder="All variants"
            clearable
            data={forms}
            value={chosen.form ?? null}
            onChange={(value) => choose({ form: value ?? undefined })}
            w={150}
          />
          <Select
            label="Figure"
            data={WORDS}
            value={figure}
            allowDeselect={false}
            onChange={(value) => value !== null && choose({ figure: value as Figure })}
            w={140}
          />
          <ExportCsv path={`/api/pairs/${pair}/speed-history/`} query={{ days: DAYS }} />
        </div>
        {times.length > 1 ? (
          <Suspense fallback={<Loading height={200} />}>
            <TimeChart
              title={titleOf(work, figure)}
              times={times}
              series={series}
              format={duration}
              bounds={FROM_NOTHING}
            />
          </Suspense>
        ) : (
          <Text size="sm" c="var(--quiet)">
            {times.length === 0
              ? "Devices have told nothing of this. Choose another condition, class or variant."
              : "One day so far: the chart begins with the second on which devices tell how quick they are."}
          </Text>
        )}
        <Text size="xs" c="var(--quiet)">
          Each day is the sum of what every device told last on it. The classes are those of the last day; what was told
          before counts to the class whose medians are nearest.
        </Text>
      </Stack>
    </Panel>
  );
}

function titleOf(work: DaySpeed["work"], figure: Figure): string {
  const within = { p50_s: t`half within`, p90_s: t`90% within`, p99_s: t`99% within` }[figure];
  return work === "step" ? t`Train steps by day, ${within}` : t`Predictions by day, ${within}`;
}
