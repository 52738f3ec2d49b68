/**
 * Sums that are rounded once, at the end, as Python's `math.fsum` has them (Shewchuk 1997, doi 10.1007/PL00009321,
 * figure 8).
 */

/** The float64 nearest to the sum of `numbers`, which are finite. */
export function exactSum(numbers: Iterable<number>): number {
  const partials: number[] = []; // they do not overlap, and grow
  for (const number of numbers) {
    let [x, kept] = [number, 0];
    for (const y of partials) {
      const [large, small] = Math.abs(x) < Math.abs(y) ? [y, x] : [x, y];
      const high = large + small;
      const low = small - (high - large);
      if (low !== 0) partials[kept++] = low;
      x = high;
    }
    partials.length = kept;
    partials.push(x);
  }
  return rounded(partials);
}

function rounded(partials: number[]): number {
  let [high, low] = [partials.pop() ?? 0, 0];
  while (low === 0) {
    const next = partials.pop();
    if (next === undefined) return high;
    const sum = high + next;
    low = next - (sum - high);
    high = sum;
  }
  // Halfway between two numbers, what is left decides.
  const rest = partials.pop() ?? 0;
  if ((low > 0 && rest > 0) || (low < 0 && rest < 0)) {
    const twice = 2 * low;
    const further = high + twice;
    if (twice === further - high) return further;
  }
  return high;
}
