/** Cuts what a phone feels into windows of acceleration at 50 Hz, one after the other, without overlap. */

export const HERTZ = 50;
const STEP_MS = 1000 / HERTZ;
/** Events come sixty times a second; where they stay away for longer the page was hidden or the phone was busy. */
const LONGEST_GAP_MS = 200;
/** After recording begins and before it ends: the phone is on its way to the pocket, or out of it. */
export const PUT_AWAY_MS = 5000;
const STANDARD_GRAVITY = 9.80665;

/** The acceleration at one moment. */
export interface Felt {
  /** In milliseconds, on any clock. */
  readonly at: number;
  /** Along x, y and z in g, gravity included; a phone that lies on its back feels 1 along z. */
  readonly g: readonly [number, number, number];
}

type Axes = { readonly x: number | null; readonly y: number | null; readonly z: number | null };

/**
 * null: the device feels nothing. `isTurned`: its browser gives what pulls at the phone instead of what holds it, as
 * Apple's do.
 */
export function feltOf(at: number, acceleration: Axes | null, isTurned: boolean): Felt | null {
  const { x, y, z } = acceleration ?? { x: null, y: null, z: null };
  if (x === null || y === null || z === null) return null;
  const unit = isTurned ? -STANDARD_GRAVITY : STANDARD_GRAVITY;
  return { at, g: [x / unit, y / unit, z / unit] };
}

interface Complete {
  readonly window: Float32Array;
  readonly ended: number;
}

export class WindowCutter {
  private last: Felt | null = null;
  private next = 0;
  private window: Float32Array;
  private filled = 0;
  private waiting: Complete[] = [];

  /** `steps` are the accelerations of a window. */
  constructor(private readonly steps: number) {
    this.window = new Float32Array(3 * steps);
  }

  /** Windows [3, steps], flattened, that are complete and ended long enough ago. */
  feel(felt: Felt): Float32Array[] {
    const { last } = this;
    if (last !== null && felt.at <= last.at) return [];
    this.last = felt;
    if (last === null || felt.at - last.at > LONGEST_GAP_MS) {
      this.next = felt.at + PUT_AWAY_MS;
      this.filled = 0;
      this.waiting = [];
      return [];
    }
    for (; this.next <= felt.at; this.next += STEP_MS) this.add(last, felt);
    const done = this.waiting.filter(({ ended }) => ended <= felt.at - PUT_AWAY_MS);
    this.waiting = this.waiting.slice(done.length);
    return done.map(({ window }) => window);
  }

  /** The acceleration at `next`, on the line between two. */
  private add(before: Felt, after: Felt): void {
    const share = (this.next - before.at) / (after.at - before.at);
    for (const axis of [0, 1, 2] as const) {
      const [from, to] = [before.g[axis], after.g[axis]];
      this.window[axis * this.steps + this.filled] = from + share * (to - from);
    }
    this.filled += 1;
    if (this.filled < this.steps) return;
    this.waiting.push({ window: this.window, ended: this.next });
    this.window = new Float32Array(3 * this.steps);
    this.filled = 0;
  }
}
