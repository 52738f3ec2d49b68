/** Secrets divided so that any `threshold` shares give them back and fewer tell nothing: `coterie_learning.secure_sum.shamir`. */
import { numberOf } from "../noise";

export const PRIME = 2n ** 256n + 297n;
export const SHARE_BYTES = 33;

/** A share of `secret` [32 bytes] at each of `points`, which are positive and differ. */
export function split(secret: Uint8Array, threshold: number, points: readonly number[]): Uint8Array[] {
  return sharesOf([numberOf(secret), ...Array.from({ length: threshold - 1 }, drawnBelow)], points);
}

/** The values of the polynomial with these coefficients, the lowest first. */
export function sharesOf(polynomial: readonly bigint[], points: readonly number[]): Uint8Array[] {
  return points.map((point) =>
    bytesOf(polynomial.reduceRight((value, coefficient) => (value * BigInt(point) + coefficient) % PRIME, 0n)),
  );
}

/** Below the prime, each number as likely: of 257 bits more than half are. */
function drawnBelow(): bigint {
  for (;;) {
    const drawn = crypto.getRandomValues(new Uint8Array(SHARE_BYTES));
    drawn[0] = (drawn[0] as number) & 1;
    const number = numberOf(drawn);
    if (number < PRIME) return number;
  }
}

function bytesOf(number: bigint): Uint8Array {
  const found = new Uint8Array(SHARE_BYTES);
  let rest = number;
  for (let place = SHARE_BYTES - 1; place >= 0; place--) {
    found[place] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return found;
}
