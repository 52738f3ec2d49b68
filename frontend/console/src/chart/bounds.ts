/** What no value of a chart can be below or above: the axis ends there. */
export type Bounds = readonly [number, number];

/** Least and greatest of what is a share of 1. */
export const SHARE: Bounds = [0, 1];
/** Of what is never negative: bytes, durations, counts. */
export const FROM_NOTHING: Bounds = [0, Number.POSITIVE_INFINITY];
