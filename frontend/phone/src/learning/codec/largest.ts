/** The largest magnitudes of a vector, which some codecs send alone. */
import type { Rounded } from "../levels";

/** How many of so many `parameters` the `share` is; at least one where there are any. */
const countOf = (share: number, parameters: number): number =>
  Math.min(parameters, Math.max(1, Math.floor(share * parameters)));

/** 1 for each of the `share` of largest magnitudes, of equal ones the earlier, 0 for the others. */
export function largest(numbers: Float32Array, share: number): Uint8Array {
  const chosen = new Uint8Array(numbers.length);
  const count = countOf(share, numbers.length);
  const magnitudes = numbers.map(Math.abs);
  const least = magnitudes.slice().sort()[numbers.length - count] ?? 0;
  let left = count;
  for (const [at, one] of magnitudes.entries()) {
    if (one > least) {
      chosen[at] = 1;
      left -= 1;
    }
  }
  for (let at = 0; left > 0 && at < magnitudes.length; at++) {
    if (magnitudes[at] === least) {
      chosen[at] = 1;
      left -= 1;
    }
  }
  return chosen;
}

/** `data` with zeros for what is not `chosen`. */
export const alone = (data: Float32Array, chosen: Uint8Array): Float32Array =>
  data.map((number, at) => (chosen[at] === 1 ? number : 0));

/** What was `rounded` of those of `data` that were `kept` alone: the others are lost, too. */
export function ofAll({ codes, scales, residual }: Rounded, data: Float32Array, kept: Float32Array): Rounded {
  const rest = (at: number): number => Math.fround((data[at] as number) - (kept[at] as number));
  return { codes, scales, residual: residual.map((lost, at) => lost + rest(at)) };
}
