/** Who shares masks with whom: a mirror of `coterie_learning.secure_sum.graph` (Bell et al. 2020, doi 10.1145/3372297.3417885). */

import { CodedError } from "../../wire/errors";
import { MOST_MEMBERS } from "../../wire/secure_sum";
import type { Terms } from "../privacy/masking";
import { permutation } from "../random";

const SMALL = 50;
const LOG_INSECURE = -41 * Math.LN2;
const LOG_LOST = -20 * Math.LN2;

export interface Graph {
  /** Even, or of everybody else. */
  readonly neighbours: number;
  /** How many of them together recover a device's masks. */
  readonly threshold: number;
}

/** Devices of so many that may work together with the platform. */
export const corruptedOf = ({ corrupted }: Terms, members: number): number => Math.ceil(corrupted * members - 1e-9);

/**
 * Devices that are summed and conspire with nobody, at least, of so many that take part.
 * Throws CodedError `secure_sum.too_few` where none need be.
 */
export function honestOf(terms: Terms, members: number): number {
  const corrupted = corruptedOf(terms, members);
  if (corrupted >= terms.fewest) {
    throw tooFew(`${corrupted} of ${members} devices may be corrupted, and ${terms.fewest} suffice for a sum`);
  }
  return terms.fewest - corrupted;
}

/** Of a sum that so many `members` take part in. Throws CodedError `secure_sum.too_few` where they are too few for the promise. */
export function graphOf(terms: Terms, members: number): Graph {
  const { fewest, corrupted, dropped, adversary } = terms;
  if (members < fewest) {
    throw tooFew(`${members} devices take part, and the plan promises that at least ${fewest} are summed`);
  }
  const [bad, lost] = [corruptedOf(terms, members), Math.ceil(dropped * members - 1e-9)];
  const graph = (members < SMALL ? complete : sparse)(members, bad, lost, adversary);
  if (graph === null) {
    const [one, other] = [corrupted, dropped].map((share) => `${Math.round(100 * share)}%`);
    throw tooFew(`${one} corrupted and ${other} lost of ${members} devices cannot be borne`);
  }
  return graph;
}

/** The places of the neighbours of `member`, ascending; the ring's order is drawn from `seed`. */
export function neighboursOf(member: number, members: number, neighbours: number, seed: bigint): number[] {
  if (neighbours >= members - 1) {
    return Array.from({ length: members }, (_, other) => other).filter((other) => other !== member);
  }
  const order = permutation(members, seed, "ring");
  const [at, half] = [order.indexOf(member), Math.floor(neighbours / 2)];
  const steps = Array.from({ length: half }, (_, step) => step + 1).flatMap((step) => [-step, step]);
  return steps.map((step) => order[(at + step + members) % members] as number).sort((a, b) => a - b);
}

type Adversary = Terms["adversary"];

/** Two thirds of all and one more, or as many as are left when so many are `lost`, if these are safe. */
function complete(members: number, bad: number, lost: number, adversary: Adversary): Graph | null {
  const others = members - 1;
  const threshold = Math.min(Math.floor((2 * members) / 3) + 1, others - lost);
  const fewest = adversary === "curious" ? bad + 1 : Math.floor((others + bad) / 2) + 1;
  return threshold >= fewest ? { neighbours: others, threshold } : null;
}

function sparse(members: number, bad: number, lost: number, adversary: Adversary): Graph | null {
  for (let neighbours = 2; neighbours < members; neighbours += 2) {
    if (!isConnected(members, neighbours, bad + lost)) continue;
    const threshold = thresholdOf(members, neighbours, bad, adversary);
    if (threshold !== null && isRecoverable(members, neighbours, lost, threshold)) return { neighbours, threshold };
  }
  return null;
}

function isConnected(members: number, neighbours: number, bad: number): boolean {
  if (neighbours > bad || members - neighbours < 2) return true;
  const gaps = Math.log(members) + Math.log(members - neighbours - 1 || 1) - Math.LN2;
  return gaps + logChoose(members - neighbours, bad - neighbours) - logChoose(members, bad) < LOG_INSECURE;
}

function thresholdOf(members: number, neighbours: number, bad: number, adversary: Adversary): number | null {
  const limit = LOG_INSECURE - Math.log(members);
  const isSafe = (threshold: number): boolean =>
    logTail(members - 1, bad, neighbours, adversary === "curious" ? threshold : 2 * threshold - neighbours) <= limit;
  if (!isSafe(neighbours)) return null;
  let [low, high] = [1, neighbours];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = isSafe(middle) ? [low, middle] : [middle + 1, high];
  }
  return low;
}

const isRecoverable = (members: number, neighbours: number, lost: number, threshold: number): boolean =>
  logTail(members - 1, lost, neighbours, neighbours - threshold + 1) <= LOG_LOST - Math.log(members);

/** The logarithm of the probability that of `drawn` at least `fewest` are marked (hypergeometric). */
function logTail(population: number, marked: number, drawn: number, fewest: number): number {
  const terms: number[] = [];
  for (let found = Math.max(fewest, 0, drawn - population + marked); found <= Math.min(marked, drawn); found++) {
    terms.push(logChoose(marked, found) + logChoose(population - marked, drawn - found) - logChoose(population, drawn));
  }
  if (terms.length === 0) return Number.NEGATIVE_INFINITY;
  const largest = Math.max(...terms);
  return largest + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - largest), 0));
}

/** The logarithms of factorials, for as many as a list has members. */
const LOG_FACTORIALS = new Float64Array(MOST_MEMBERS + 1);
for (let number = 2; number <= MOST_MEMBERS; number++) {
  LOG_FACTORIALS[number] = (LOG_FACTORIALS[number - 1] as number) + Math.log(number);
}

function logChoose(count: number, chosen: number): number {
  const of = (number: number): number => LOG_FACTORIALS[number] as number;
  return of(count) - of(chosen) - of(count - chosen);
}

const tooFew = (detail: string): CodedError => new CodedError("secure_sum.too_few", detail);
