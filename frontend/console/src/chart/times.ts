import { dates, moment } from "../components/locale";

/** Formats of moments on an axis, in the person's own language and time zone. */
const DAY = dates({ month: "short", day: "numeric" });
const YEAR = dates({ year: "numeric", month: "short", day: "numeric" });
const MINUTE = dates({ hour: "2-digit", minute: "2-digit" });
const SECOND = dates({ hour: "2-digit", minute: "2-digit", second: "2-digit" });

const DAY_S = 86_400;
const MINUTE_S = 60;
/** Pixels of a letter of an axis, on average of those in dates, and of the room beside a label. */
const LETTER_PX = 7;
const ROOM_PX = 24;

/** Pixels between the ticks of an axis from one moment to another, so that the longest label of any has room. */
export function tickRoom(from: number, to: number): number {
  const formats = [SECOND, years(from, to) ? YEAR : DAY];
  const longest = Math.max(...formats.flatMap((format) => [from, to].map((at) => format.format(1000 * at).length)));
  return LETTER_PX * longest + ROOM_PX;
}

/**
 * Labels of the moments `ticks` (seconds since 1970, ascending) that are `apart` seconds from each other: days where they
 * are days apart, otherwise times of day, with the day below the first and wherever it is another.
 */
export function tickLabels(ticks: readonly number[], apart: number): string[] {
  if (apart >= DAY_S) {
    const format = years(ticks[0] ?? 0, ticks.at(-1) ?? 0) ? YEAR : DAY;
    return ticks.map((at) => format.format(at * 1000));
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
  return moment(1000 * seconds);
}

function years(from: number, to: number): boolean {
  return new Date(1000 * from).getFullYear() !== new Date(1000 * to).getFullYear();
}
