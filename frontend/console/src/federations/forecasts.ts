import type { components } from "../api/schema";
import type { Expected } from "../chart/ForecastChart";
import { counted } from "../components/units";
import { t } from "../language/t";
import type { PlanForecast, RoundForecast } from "./queries";

type Range = components["schemas"]["Range"];

const DAY_S = 86_400;

/** The middle of what is expected, and where four of five should lie: "4.2 s (3.1 s to 5.8 s)". */
export function rangeIn({ low, middle, high }: Range, format: (value: number) => string): string {
  const [from, most, to] = [format(low), format(middle), format(high)];
  return from === to ? most : t`${most} (${from} to ${to})`;
}

/** A number of things, without places. */
export function whole(many: number): string {
  return counted(Math.round(many));
}

/** What is expected of a plan's rounds and what happened, round by round since it was tried. */
export function drawnOf({ expected, happened }: PlanForecast): {
  readonly accuracy: readonly Expected[];
  readonly durations: readonly Expected[];
} {
  const rounds = expected?.rounds ?? [];
  const takes = expected?.duration_s ?? { low: null, middle: null, high: null };
  return {
    accuracy: rounds.map(({ number, accuracy: { low, middle, high } }, place) => ({
      number,
      low,
      middle,
      high,
      happened: happened[place]?.accuracy ?? null,
    })),
    durations: rounds.map(({ number }, place) => ({
      number,
      low: takes.low,
      middle: takes.middle,
      high: takes.high,
      happened: happened[place]?.duration_s ?? null,
    })),
  };
}

/** How right predictions are expected to be while samples come, by day; empty where devices have them all at once. */
export function courseOf({ expected }: PlanForecast): readonly Expected[] {
  return (expected?.moments ?? []).map(({ ends_s, accuracy: { low, middle, high } }) => ({
    number: ends_s / DAY_S,
    low,
    middle,
    high,
    happened: null,
  }));
}

/** What rounds were expected to last as they opened, and lasted; the oldest first. */
export function durationsOf(forecasts: readonly RoundForecast[]): readonly Expected[] {
  return forecasts.toReversed().map((one) => ({
    number: one.number,
    low: one.duration_low_s,
    middle: one.duration_s,
    high: one.duration_high_s,
    happened: one.happened_duration_s,
  }));
}
