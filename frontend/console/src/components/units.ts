import { t } from "../language/t";
import { numbers } from "./locale";

const SIZES = ["B", "kB", "MB", "GB", "TB"] as const;
const COUNT = numbers();
const THREE_DIGITS = numbers({ minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const SIX_DIGITS = numbers({ maximumSignificantDigits: 6 });
const THREE_PLACES = numbers({ minimumFractionDigits: 3, maximumFractionDigits: 3 });
const TWO_DIGITS = numbers({ maximumSignificantDigits: 2 });
const ONE_PLACE = numbers({ maximumFractionDigits: 1 });
const SHORT_PERCENT = numbers({ style: "percent", maximumFractionDigits: 2 });
const WHOLE_PERCENT = numbers({ style: "percent" });
const PERCENT = numbers({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** How many: "12,000". */
export function counted(many: number): string {
  return COUNT.format(many);
}

/** A number that somebody has set: "0.05". */
export function decimal(value: number): string {
  return SIX_DIGITS.format(value);
}

/** How far models or data are apart: "0.490". */
export function distance(value: number): string {
  return THREE_PLACES.format(value);
}

/** Bytes as a person reads them, in powers of 1000: "39.8 kB". */
export function bytes(many: number): string {
  let value = many;
  let step = 0;
  while (value >= 999.5 && step < SIZES.length - 1) {
    value /= 1000;
    step += 1;
  }
  return `${(step === 0 ? COUNT : THREE_DIGITS).format(value)} ${SIZES[step]}`;
}

/** Energy as a person reads it: "12.4 J", "3.20 kJ". */
export function joules(energy: number): string {
  return energy < 999.5 ? `${THREE_DIGITS.format(energy)} J` : `${THREE_DIGITS.format(energy / 1000)} kJ`;
}

/** A share of 1 as a percentage: "96.7%". */
export function percent(share: number): string {
  return PERCENT.format(share);
}

/** Seconds as a person reads them: "4.2 ms", "3.5 s", "12 min", "24 h", "7 days". */
export function duration(seconds: number): string {
  if (seconds < 1) return `${rounded(1000 * seconds)} ms`;
  if (seconds < 120) return `${rounded(seconds)} s`;
  if (seconds < 7200) return `${COUNT.format(Math.round(seconds / 60))} min`;
  return seconds < 259_200 ? `${ONE_PLACE.format(seconds / 3600)} h` : t`${ONE_PLACE.format(seconds / 86_400)} days`;
}

/** A share of 1 without digits that say nothing: "10%", "12.5%". */
export function shortPercent(share: number): string {
  return SHORT_PERCENT.format(share);
}

/** A share of 1 as what progress is told by: "42%". */
export function wholePercent(share: number): string {
  return WHOLE_PERCENT.format(share);
}

/** To two digits: 7.2, 12, 720. */
function rounded(value: number): string {
  return TWO_DIGITS.format(value);
}

/** By how much a value is other than another: "+1.2%". */
export function signed(value: number, format: (value: number) => string): string {
  if (value === 0) return t`the same`;
  return `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}
