import { Swatch } from "./Legend";
import classes from "./Tooltip.module.css";

/** A series at one place. */
export interface Reading {
  readonly label: string;
  readonly value: string;
  /** The page's name of its colour; none where there is one series alone. */
  readonly colour?: string | undefined;
}

/** All that a chart shows at one place. */
export interface Readings {
  /** Which place. */
  readonly heading: string;
  readonly readings: readonly Reading[];
  /** What happened there. */
  readonly notes: readonly string[];
}

interface Props {
  readonly of: Readings;
  /** Where the place is, in pixels from the left of so many. */
  readonly left: number;
  readonly width: number;
}

const APART_PX = 12;

/** All series at the place that is pointed at. What is said of it aloud is the chart's own value. */
export function Tooltip({ of: { heading, readings, notes }, left, width }: Props) {
  const side = left > width / 2 ? { right: width - left + APART_PX } : { left: left + APART_PX };
  return (
    <div className={classes.tooltip} style={side} aria-hidden>
      <div className={classes.heading}>{heading}</div>
      {readings.map(({ label, value, colour }) => (
        <div key={label} className={classes.reading}>
          <span>
            {colour !== undefined && <Swatch colour={colour} />} {label}
          </span>
          <span className={classes.value}>{value}</span>
        </div>
      ))}
      {notes.map((note) => (
        <div key={note} className={classes.note}>
          {note}
        </div>
      ))}
    </div>
  );
}

/** The same in words. */
export function spokenOf({ heading, readings, notes }: Readings): string {
  return [`${heading}: ${readings.map(({ label, value }) => `${label} ${value}`).join(", ")}`, ...notes].join(". ");
}
