import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import type { Series } from "../chart/usePlot";
import { t } from "../language/t";
import { PAIRS } from "./queries";
import { nameOfClass } from "./speeds";

export type DaySpeed = components["schemas"]["DaySpeed"];

/** Days back from today that the chart can show. */
export const DAYS = 180;
const AT_ONCE = 500;

/** Which of a pair's speeds are drawn: what is left out is chosen by what there is, or is all. */
export interface SpeedSearch {
  readonly work?: DaySpeed["work"];
  readonly charging?: DaySpeed["charging"];
  /** One variant alone. */
  readonly form?: string;
  /** One class alone; 1 is the quickest. */
  readonly number?: number;
  readonly figure?: Figure;
}

export const FIGURES = ["p50_s", "p90_s", "p99_s"] as const;
export type Figure = (typeof FIGURES)[number];

/** What an address asks for; whatever else it has is left out. */
export function speedSearch(raw: unknown): { readonly speed?: SpeedSearch } {
  if (typeof raw !== "object" || raw === null) return {};
  const { work, charging, form, number, figure } = raw as Record<string, unknown>;
  const speed: SpeedSearch = {
    ...((work === "step" || work === "predict") && { work }),
    ...((charging === "yes" || charging === "no" || charging === "unknown") && { charging }),
    ...(typeof form === "string" && { form }),
    ...(typeof number === "number" && { number }),
    ...(FIGURES.includes(figure as Figure) && { figure: figure as Figure }),
  };
  return Object.keys(speed).length === 0 ? {} : { speed };
}

/** How quick a pair's devices were, day by day, the newest first. */
export function speedHistoryQuery(pair: string) {
  return queryOptions({
    queryKey: [...PAIRS, pair, "speed-history"],
    queryFn: async ({ signal }) => {
      const rows: DaySpeed[] = [];
      for (let page = 1; ; page += 1) {
        const query = { days: DAYS, page_size: AT_ONCE, page };
        const { data } = await api.GET("/api/pairs/{id}/speed-history/", {
          params: { path: { id: pair }, query },
          signal,
        });
        rows.push(...(data?.results ?? []));
        if (data?.next == null) return rows;
      }
    },
  });
}

/** What can be chosen, and what is where nothing was: predictions, and the condition in which most devices measured. */
export function choicesIn(rows: readonly DaySpeed[], chosen: SpeedSearch) {
  const works = distinct(rows.map(({ work }) => work)).sort();
  const work = chosen.work ?? (works.includes("predict") ? "predict" : "step");
  const own = rows.filter((row) => row.work === work);
  const devices = new Map<DaySpeed["charging"], number>();
  for (const row of own) devices.set(row.charging, (devices.get(row.charging) ?? 0) + row.devices);
  const conditions = [...devices].sort(([, one], [, other]) => other - one).map(([charging]) => charging);
  return {
    works,
    work,
    conditions,
    charging: chosen.charging ?? conditions[0] ?? "unknown",
    forms: distinct(own.map(({ form }) => form)).sort(),
    classes: rows[0]?.classes ?? 0,
  };
}

/** A line for each class and form that are chosen, over the days on which any of them was measured. */
export function linesOf(rows: readonly DaySpeed[], chosen: SpeedSearch) {
  const { work, charging, forms, classes } = choicesIn(rows, chosen);
  const shown = rows.filter(
    (row) =>
      row.work === work &&
      row.charging === charging &&
      (chosen.form === undefined || row.form === chosen.form) &&
      (chosen.number === undefined || row.number === chosen.number),
  );
  const days = distinct(shown.map(({ day }) => day)).sort();
  const byLine = new Map<string, Map<string, DaySpeed>>();
  for (const row of shown) {
    const key = keyOf(row.number, row.form);
    byLine.set(key, (byLine.get(key) ?? new Map<string, DaySpeed>()).set(row.day, row));
  }
  const series: Series[] = [];
  for (let number = 1; number <= classes; number += 1) {
    for (const form of forms) {
      const line = byLine.get(keyOf(number, form));
      if (line === undefined) continue;
      series.push({
        label: t`${nameOfClass(number - 1, classes)}, ${form}`,
        values: days.map((day) => line.get(day)?.[chosen.figure ?? "p50_s"] ?? null),
        hue: (number - 1) * forms.length + forms.indexOf(form),
      });
    }
  }
  return { times: days.map((day) => Date.parse(day) / 1000), series };
}

const keyOf = (number: number, form: string) => `${number} ${form}`;

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
