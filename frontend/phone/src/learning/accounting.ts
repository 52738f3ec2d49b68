/** What Gaussian noise is worth: a mirror of `coterie_learning.accounting`, by which the device keeps its own account. */

const ROUNDING = 1e-9;
const TURNS = 200;
const TAIL = -10;
const LARGEST_MU = 1e4;
/** Below it the error function is summed up as a series, from it on as a continued fraction. */
const SERIES = 2;

/** What costs of `mu2` in all amount to at `delta`, of (0, 1); infinite where they are beyond any use. */
export function epsilonOf(mu2: number, delta: number): number {
  if (mu2 > LARGEST_MU ** 2) return Number.POSITIVE_INFINITY;
  const mu = Math.sqrt(mu2);
  if (mu2 <= 0 || deltaOf(mu, 0) <= delta) return 0;
  let [low, high] = [0, 1];
  while (deltaOf(mu, high) > delta) [low, high] = [high, 2 * high];
  for (let turn = 0; turn < TURNS; turn++) {
    const middle = (low + high) / 2;
    [low, high] = deltaOf(mu, middle) > delta ? [middle, high] : [low, middle];
  }
  return high;
}

/** The largest sum of costs that amounts to no more than `epsilon`, 0 or above, at `delta`, of (0, 1). */
export function mostOf(epsilon: number, delta: number): number {
  let [low, high] = [0, LARGEST_MU];
  for (let turn = 0; turn < TURNS; turn++) {
    const middle = (low + high) / 2;
    [low, high] = deltaOf(middle, epsilon) <= delta ? [middle, high] : [low, middle];
  }
  return low * low;
}

/** What one release costs each device in it. */
export const costOf = (noiseMultiplier: number): number => (1 / noiseMultiplier) ** 2;

/** Whether a budget of `most` pays for one more release at `cost`. */
export const pays = (most: number, spent: number, cost: number): boolean => spent + cost <= most * (1 + ROUNDING);

/** δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ). */
function deltaOf(mu: number, epsilon: number): number {
  if (mu === 0) return 0;
  const [first, second] = [mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu];
  return Math.exp(logPhi(first)) - Math.exp(epsilon + logPhi(second));
}

/** log Φ(x). */
function logPhi(x: number): number {
  if (x > TAIL) return Math.log(0.5 * erfc(-x / Math.SQRT2));
  const inverse = 1 / (x * x);
  const series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)));
  return (-x * x) / 2 - Math.log(-x) - 0.5 * Math.log(2 * Math.PI) + Math.log(series);
}

/** The complementary error function (Abramowitz and Stegun 1964, 7.1.6 and 7.1.14). */
function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  if (x < SERIES) {
    let [term, sum] = [x, x];
    for (let n = 1; term > sum * 1e-17; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let fraction = x;
  for (let n = 120; n > 0; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}
