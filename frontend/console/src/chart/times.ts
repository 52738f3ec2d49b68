import { dates } from "../components/locale";

/** Formats of moments on an axis, in the person's own language and time zone. */
const DAY = dates({ month: "short", day: "numeric" });
const YEAR = dates({ year: "numeric", month: "short", day: "numeric" });
const MINUTE = dates({ hour: "2-digit", minute: "2-digit" });
const SECOND = dates({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MOMENT = dates({ dateStyle: "medium", timeStyle: "medium" });

/** Pixels that the longest label of an axis takes, with room beside it. */
export const TICK_PX = 90;
const DAY_S = 86_400;
const MINUTE_S = 60;

/**
 * Labels of the moments `ticks` (seconds since 1970, ascending) that are `apart` seconds from each other: days where they
 * are days apart, otherwise times of day, with the day below the first and wherever it is another.
 */
export function tickLabels(ticks: readonly number[], apart: number): string[] {
  if (apart >= DAY_S) {
    const years = new Set(ticks.map((at) => new Date(at * 1000).getFullYear()));
    return ticks.map((at) => (years.size > 1 ? YEAR : DAY).format(at * 1000));
  }
  const time = apart >= MINUTE_S ? MINUTE : SECOND;
  let before = "";
  return ticks.map((at) => {
    const day = DAY.format(at * 1000);
    const label = day === before ? time.format(at * 1000) : `${time.format(at * 1000)}\n${day}`;
    before = day;
    return label;
  });
}

/** A moment in full. */
export function momentOf(seconds: number): string {
  return MOMENT.format(seconds * 1000);
}
