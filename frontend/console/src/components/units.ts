const SIZES = ["B", "kB", "MB", "GB", "TB"] as const;

/** Bytes as a person reads them, in powers of 1000: "39.8 kB". */
export function bytes(count: number): string {
  let value = count;
  let step = 0;
  while (value >= 999.5 && step < SIZES.length - 1) {
    value /= 1000;
    step += 1;
  }
  return `${step === 0 ? value : value.toPrecision(3)} ${SIZES[step]}`;
}

/** A share of 1 as a percentage: "96.7%". */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

/** Seconds as a person reads them: "4.2 ms", "3.5 s", "12 min". */
export function duration(seconds: number): string {
  if (seconds < 1) return `${rounded(1000 * seconds)} ms`;
  if (seconds < 120) return `${rounded(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** To two digits: 7.2, 12, 720. */
function rounded(value: number): number {
  return Number(value.toPrecision(2));
}
