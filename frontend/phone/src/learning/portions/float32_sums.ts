/** Sums of float32 numbers as NumPy computes them, so that two sides choose the same units. */

/** Numbers that are summed eight side by side; more are divided into two parts (NumPy's pairwise summation). */
const BLOCK = 128;
const LANES = 8;

/** The sum of `data` from `start` on, rounded to float32 after each addition. */
export function float32Sum(data: Float32Array, start = 0, count: number = data.length - start): number {
  if (count > BLOCK) {
    const half = Math.floor(count / 2);
    const first = half - (half % LANES);
    return Math.fround(float32Sum(data, start, first) + float32Sum(data, start + first, count - first));
  }
  const whole = count < LANES ? 0 : count - (count % LANES);
  const lanes = data.slice(start, start + LANES);
  for (let at = LANES; at < whole; at++) {
    lanes[at % LANES] = (lanes[at % LANES] as number) + (data[start + at] as number);
  }
  let sum = whole === 0 ? 0 : eight(lanes);
  for (let at = whole; at < count; at++) sum = Math.fround(sum + (data[start + at] as number));
  return sum;
}

function eight(lanes: Float32Array): number {
  const pair = (at: number): number => Math.fround((lanes[at] as number) + (lanes[at + 1] as number));
  return Math.fround(Math.fround(pair(0) + pair(2)) + Math.fround(pair(4) + pair(6)));
}

/** The L2 norm, in float32, of each of `rows` rows of equal length. */
export function float32Norms(data: Float32Array, rows: number): Float32Array {
  const width = rows === 0 ? 0 : data.length / rows;
  const squares = data.map((number) => number * number);
  return Float32Array.from({ length: rows }, (_, row) => Math.sqrt(float32Sum(squares, row * width, width)));
}
