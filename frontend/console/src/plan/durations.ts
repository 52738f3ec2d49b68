import { decimal } from "../components/units";
import { t } from "../language/t";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const WEEK_S = 7 * DAY_S;
/** From so many seconds on, whole days are told as days. */
const LONG_S = 3 * DAY_S;

/** Seconds of a unit, by how it may begin; of several the first. */
const UNITS: readonly (readonly [beginning: string, seconds: number])[] = [
  ["ms", 0.001],
  ["mi", MINUTE_S],
  ["s", 1],
  ["m", MINUTE_S],
  ["h", HOUR_S],
  ["d", DAY_S],
  ["t", DAY_S],
  ["w", WEEK_S],
];
const GERMAN_HOURS = "st";
const PART = /(\d+(?:[.,]\d+)?)\s*(\p{L}*)[\s,]*/gu;

/** The seconds that somebody means by "24 h", "1 h 30 min" or "90"; null: that is no duration. */
export function secondsIn(text: string): number | null {
  const parts = [...text.toLowerCase().matchAll(PART)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== text.toLowerCase().trimStart()) return null;
  let sum = 0;
  for (const [, amount = "", unit = ""] of parts) {
    const seconds = unit === "" && parts.length === 1 ? 1 : secondsOf(unit);
    if (seconds === undefined) return null;
    sum += Number(amount.replace(",", ".")) * seconds;
  }
  return sum;
}

function secondsOf(unit: string): number | undefined {
  if (unit.startsWith(GERMAN_HOURS)) return HOUR_S;
  return UNITS.find(([beginning]) => unit.startsWith(beginning))?.[1];
}

/** Seconds in full, as `secondsIn` reads them: "24 h", "1 h 30 min", "7 days". */
export function inFull(seconds: number): string {
  if (seconds >= LONG_S && seconds % DAY_S === 0) return t`${seconds / DAY_S} days`;
  const hours = Math.floor(seconds / HOUR_S);
  const minutes = Math.floor((seconds % HOUR_S) / MINUTE_S);
  const rest = seconds - hours * HOUR_S - minutes * MINUTE_S;
  const parts = [
    ...(hours > 0 ? [`${hours} h`] : []),
    ...(minutes > 0 ? [`${minutes} min`] : []),
    ...(rest > 0 || seconds === 0 ? [`${decimal(rest)} s`] : []),
  ];
  return parts.join(" ");
}
